// RUN: mpmd-opt %s -sdy-user-priority-propagate=keep-sharding-rules -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @rules_stay_on_ops
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32>)
// CHECK-SAME: -> tensor<12x8xf32>
func.func @rules_stay_on_ops(%a: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=12, j=8}>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}
