// RUN: mpmd-opt %s -sdy-propagation-pipeline -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @groups_go_and_constraints_become_reshards
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {"c"}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {"c"}]>})
func.func @groups_go_and_constraints_become_reshards(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = sdy.reshard %[[ARG0]] <@grid, [{"r"}, {"c"}]>
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {"c"}]>]>}
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.add %[[V0]], %[[V1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {"c"}]>]>}
  // CHECK-NEXT: return %[[V2]]
  %0 = sdy.sharding_constraint %a <@grid, [{?}, {"c"}]> : tensor<12x8xf32>
  %1 = stablehlo.negate %a : tensor<12x8xf32>
  sdy.sharding_group %1 group_id=3 : tensor<12x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<12x8xf32>
  return %2 : tensor<12x8xf32>
}
