// RUN: mpmd-opt %s -sdy-basic-propagate=conservative-propagation -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -sdy-aggressive-propagate=conservative-propagation -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -sdy-op-priority-propagate=conservative-propagation -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -sdy-user-priority-propagate=conservative-propagation -split-input-file | FileCheck %s

sdy.mesh @grid = <["a"=4, "b"=2]>

// CHECK-LABEL: func @whole_axes_only
// CHECK-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"b", ?}, {?}]>})
func.func @whole_axes_only(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"b", "a":(1)2, ?}, {?}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: stablehlo.sine %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"b", ?}, {?}]>]>}
  %0 = stablehlo.sine %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

sdy.mesh @grid = <["a"=4, "b"=2]>

// CHECK-LABEL: func @no_axis_is_split
func.func @no_axis_is_split(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {"b", ?}]>}) -> tensor<2x4x8xf32> {
  // CHECK-NEXT: stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {?}, {"b", ?}]>]>}
  %0 = stablehlo.reshape %x : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// -----

sdy.mesh @grid = <["a"=4, "b"=2]>

// What is no operation passes everything on.
// CHECK-LABEL: func @results_take_parts
// CHECK-SAME: -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a":(1)2, ?}]>})
func.func @results_take_parts(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a":(1)2, ?}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: return
  return %x : tensor<8xf32>
}
