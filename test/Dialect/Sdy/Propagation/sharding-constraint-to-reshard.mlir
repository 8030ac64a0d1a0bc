// RUN: mpmd-opt %s -sdy-sharding-constraint-to-reshard -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @constraint_becomes_reshard
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32>)
// CHECK-SAME: -> tensor<12x8xf32>
func.func @constraint_becomes_reshard(%a: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = sdy.reshard %[[ARG0]] <@grid, [{?}, {"c"}]> {kept}
  // CHECK-NEXT: return %[[V0]]
  %0 = sdy.sharding_constraint %a <@grid, [{?}, {"c"}]> {kept} : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}
