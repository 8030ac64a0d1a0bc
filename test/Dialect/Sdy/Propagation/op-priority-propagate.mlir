// RUN: mpmd-opt %s -sdy-op-priority-propagate -split-input-file | FileCheck %s --check-prefixes=CHECK,LEVELS
// RUN: mpmd-opt %s -sdy-op-priority-propagate=run-op-priority-propagation=false -split-input-file | FileCheck %s --check-prefixes=CHECK,FLAT
// RUN: mpmd-opt %s -sdy-user-priority-propagate=run-op-priority-propagation=false -split-input-file | FileCheck %s --check-prefixes=CHECK,FLAT

sdy.mesh @grid = <["a"=2, "b"=2]>

// CHECK-LABEL: func @cheap_ops_come_first
func.func @cheap_ops_come_first(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {?}]>}, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // LEVELS-NEXT: stablehlo.dot %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"a", ?}]>]>}
  // FLAT-NEXT: stablehlo.dot %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a", ?}, {?}]>]>}
  %0 = stablehlo.dot %x, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"a", ?}]>]>}
  %1 = stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"a", ?}]>]>} : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
