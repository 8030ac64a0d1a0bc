// RUN: mpmd-opt %s -sdy-basic-propagate -split-input-file | FileCheck %s

sdy.mesh @grid = <["a"=2, "b"=2]>

// CHECK-LABEL: func @all_tensors_agree
// CHECK-SAME: (%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {"b", ?}]>},
// CHECK-SAME: %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {"b", ?}]>})
// CHECK-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {"b", ?}]>})
func.func @all_tensors_agree(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {?}]>}, %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"b", ?}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a", ?}, {"b", ?}]>]>}
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

sdy.mesh @grid = <["a"=2, "b"=2]>

// Two factors want one axis.
// CHECK-LABEL: func @conflict_settles_nothing
// CHECK-SAME: -> tensor<8x8xf32> {
func.func @conflict_settles_nothing(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {?}]>}, %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"a", ?}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

sdy.mesh @grid = <["a"=2, "b"=2]>

// User priorities do not count, and stay where nothing changes.
// CHECK-LABEL: func @priorities_do_not_count
// CHECK-SAME: (%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}p1, {?}]>})
// CHECK-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {?}]>})
func.func @priorities_do_not_count(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}p1, {?}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: stablehlo.sine %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a", ?}, {?}]>]>}
  %0 = stablehlo.sine %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

sdy.mesh @grid = <["a"=2, "b"=2]>

// CHECK-LABEL: func @not_through_collectives
func.func @not_through_collectives(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a"}]>}, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"b"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: sdy.all_gather [{"a"}] %{{.*}} out_sharding=<@grid, [{?}]>
  %0 = sdy.all_gather [{"a"}] %x out_sharding=<@grid, [{?}]> : tensor<8xf32>
  %1 = stablehlo.add %y, %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
