// RUN: mpmd-opt %s -sdy-user-priority-propagate=propagation-strategy=aggressive -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @aggressive_strategy_passes_closed_operand
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @aggressive_strategy_passes_closed_operand(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// An operand takes no more than the result has for that factor.
// CHECK-LABEL: func @operand_of_elementwise_op_follows_result
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @operand_of_elementwise_op_follows_result(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c", ?}, {?}]>}, %b: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {?}]>]>} : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}
