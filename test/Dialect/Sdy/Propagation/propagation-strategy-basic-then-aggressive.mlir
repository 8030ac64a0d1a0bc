// RUN: mpmd-opt %s -sdy-user-priority-propagate | FileCheck %s --check-prefixes=CHECK,DEFAULT
// RUN: mpmd-opt %s -sdy-user-priority-propagate=propagation-strategy=basic-then-aggressive | FileCheck %s --check-prefixes=CHECK,BOTH

sdy.mesh @grid = <["r"=2, "c"=4]>

// Both operands of the first product offer `r`, and the larger one wins. By
// default that is settled before the second product is looked at; what all
// tensors of an op agree on may also come first, and there only the weight has
// axes.
// CHECK-LABEL: func @settles_conflict_in_program_order
// DEFAULT-SAME: -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// BOTH-SAME:    -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>})
func.func @settles_conflict_in_program_order(
    %x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>},
    %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {"r"}]>}) -> tensor<16x8xf32> {
  // CHECK-NEXT: stablehlo.dot_general {{.*}}sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  // DEFAULT-NEXT: stablehlo.dot_general {{.*}}sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>
  // BOTH-NEXT:    stablehlo.dot_general {{.*}}sdy.sharding_per_value<[<@grid, [{?}, {"r", ?}]>]>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}
