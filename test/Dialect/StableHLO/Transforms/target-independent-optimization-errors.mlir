// RUN: not mpmd-opt %s -stablehlo-target-independent-optimization=fold-op-element-limit=99999999999 2>&1 | FileCheck %s

// CHECK: error: fold-op-element-limit is 99999999999; expected at most 16777216
func.func @reports_limit_above_what_fits_into_memory() {
  return
}
