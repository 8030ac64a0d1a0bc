// RUN: mpmd-opt %s -sdy-aggressive-propagate -split-input-file | FileCheck %s --check-prefixes=CHECK,AGGRESSIVE
// RUN: mpmd-opt %s -sdy-aggressive-propagate=propagation-strategy=basic -split-input-file | FileCheck %s --check-prefixes=CHECK,BASIC

sdy.mesh @grid = <["a"=2, "b"=2]>

// CHECK-LABEL: func @each_tensor_takes_what_it_can
// AGGRESSIVE-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {?}]>})
// BASIC-SAME: -> tensor<8x8xf32> {
func.func @each_tensor_takes_what_it_can(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {?}]>}, %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"a", ?}]>}) -> tensor<8x8xf32> {
  // AGGRESSIVE-NEXT: stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a", ?}, {?}]>]>}
  // BASIC-NEXT: stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

sdy.mesh @grid = <["a"=2, "b"=2]>

// In program order, however expensive an op is.
// CHECK-LABEL: func @first_op_decides
func.func @first_op_decides(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {?}]>}, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: stablehlo.dot %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a", ?}, {?}]>]>}
  %0 = stablehlo.dot %x, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"a", ?}]>]>}
  %1 = stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"a", ?}]>]>} : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func @largest_source_has_more_elements_than_can_be_counted
// AGGRESSIVE-SAME: -> (tensor<8x9223372036854775806xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x", ?}]>})
// BASIC-SAME: -> tensor<8x9223372036854775806xf32> {
func.func @largest_source_has_more_elements_than_can_be_counted(
    %x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<4x9223372036854775806xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> tensor<8x9223372036854775806xf32> {
  %0 = stablehlo.dot %x, %w : (tensor<8x4xf32>, tensor<4x9223372036854775806xf32>) -> tensor<8x9223372036854775806xf32>
  return %0 : tensor<8x9223372036854775806xf32>
}
