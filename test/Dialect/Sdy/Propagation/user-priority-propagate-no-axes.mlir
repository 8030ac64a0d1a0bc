// RUN: mpmd-opt %s -sdy-user-priority-propagate -split-input-file | FileCheck %s

sdy.mesh @grid = <["a"=2]>

// Nothing propagates where no sharding has an axis.
// CHECK-LABEL: func @nothing_to_propagate
// CHECK-SAME: %arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}]>}
func.func @nothing_to_propagate(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: stablehlo.sine %arg0 : tensor<8xf32>
  %0 = stablehlo.sine %x : tensor<8xf32>
  // CHECK-NEXT: return
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @grid = <["a"=2]>

// What is not used goes, as it does beside others that propagate.
// CHECK-LABEL: func @unused_op
func.func @unused_op(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: stablehlo.sine
  // CHECK-NEXT: return
  %0 = stablehlo.cosine %x : tensor<8xf32>
  %1 = stablehlo.sine %x : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

sdy.mesh @grid = <["a"=2]>

// Priorities are settled without axes, too.
// CHECK-LABEL: func @priority
// CHECK-SAME: %arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}]>}
func.func @priority(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}p1]>}) -> tensor<8xf32> {
  // CHECK-NEXT: stablehlo.sine %arg0 : tensor<8xf32>
  %0 = stablehlo.sine %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @grid = <["a"=2]>

// A constraint of an op's own is a sharding to propagate.
// CHECK-LABEL: func @constraint
func.func @constraint(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[c:.*]] = sdy.sharding_constraint %arg0 <@grid, [{"a"}]>
  %0 = sdy.sharding_constraint %x <@grid, [{"a"}]> : tensor<8xf32>
  // CHECK-NEXT: stablehlo.sine %[[c]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a", ?}]>]>}
  %1 = stablehlo.sine %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
