// RUN: mpmd-opt %s -sdy-basic-propagate=debug-propagation-edge-sharding -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -sdy-aggressive-propagate=debug-propagation-edge-sharding -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -sdy-op-priority-propagate=debug-propagation-edge-sharding -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -sdy-user-priority-propagate=debug-propagation-edge-sharding -split-input-file | FileCheck %s

sdy.mesh @grid = <["a"=2, "b"=2]>

// CHECK-LABEL: func @steps_are_numbered
// CHECK-SAME: -> (tensor<8x8xf32> {sdy.propagation_edges = #sdy.propagation_edges<[{step-2 = [{"a" = operand-0 -> [result-0]}, {"b" = operand-0 -> [result-0]}]}]>,
func.func @steps_are_numbered(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {?}]>}, %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"b", ?}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: stablehlo.add {{.*}} {sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"a" = operand-0 -> [operand-1, result-0]}, {"b" = operand-1 -> [operand-0, result-0]}]}]>,
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  // CHECK-NEXT: stablehlo.sine {{.*}} {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"a" = operand-0 -> [result-0]}, {"b" = operand-0 -> [result-0]}]}]>,
  %1 = stablehlo.sine %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

sdy.mesh @grid = <["a"=2, "b"=2]>

// The tensor that has most of a factor is the source.
// CHECK-LABEL: func @longest_is_the_source
func.func @longest_is_the_source(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}]>}, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", "b", ?}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: step-0 = [{"a" = operand-1 -> [result-0]}, {"b" = operand-1 -> [operand-0, result-0]}]
  %0 = stablehlo.add %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @grid = <["a"=4, "b"=2]>

// Also where others have a part of the same axis.
// CHECK-LABEL: func @part_is_no_source
func.func @part_is_no_source(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"b", "a":(1)2, ?}]>}, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"b", "a", ?}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: step-0 = [{"a" = operand-1 -> [operand-0, result-0]}, {"b" = operand-1 -> [result-0]}]
  %0 = stablehlo.add %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}
