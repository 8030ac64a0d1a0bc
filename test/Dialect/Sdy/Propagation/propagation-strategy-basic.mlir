// RUN: mpmd-opt %s -sdy-user-priority-propagate=propagation-strategy=basic -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// A closed operand holds up all others.
// CHECK-LABEL: func @basic_strategy_waits_for_all
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>})
// CHECK-SAME: -> tensor<12x8xf32>
func.func @basic_strategy_waits_for_all(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]]
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}
