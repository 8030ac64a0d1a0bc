// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @reduce
func.func @reduce(%x: tensor<12x8x4xf32>, %v: tensor<f32>) -> tensor<8xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, k], [])->([j]) {i=12, j=8, k=4} reduction={i, k}>
  %0 = stablehlo.reduce(%x init: %v) applies stablehlo.add across dimensions = [0, 2] : (tensor<12x8x4xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @reduce_of_several_inputs
func.func @reduce_of_several_inputs(%x: tensor<12x8xf32>, %y: tensor<12x8xi32>, %v: tensor<f32>, %w: tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>) {
  // CHECK: ([i, j], [i, j], [], [])->([j], [j]) {i=12, j=8} reduction={i}>
  %0:2 = stablehlo.reduce(%x init: %v), (%y init: %w) across dimensions = [0] : (tensor<12x8xf32>, tensor<12x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    stablehlo.return %a, %c : tensor<f32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}

// CHECK-LABEL: func @reduce_window_permutes_where_windows_are_larger_than_one
func.func @reduce_window_permutes_where_windows_are_larger_than_one(%x: tensor<4x8xf32>, %v: tensor<f32>) -> tensor<4x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=4, j=4} permutation={j}>
  %0 = "stablehlo.reduce_window"(%x, %v) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: func @reduce_window_permutes_padded_dimension
func.func @reduce_window_permutes_padded_dimension(%x: tensor<4x8xf32>, %v: tensor<f32>) -> tensor<5x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=5, j=8} permutation={i}>
  %0 = "stablehlo.reduce_window"(%x, %v) <{window_dimensions = array<i64: 1, 1>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<5x8xf32>
  return %0 : tensor<5x8xf32>
}

// CHECK-LABEL: func @select_and_scatter
func.func @select_and_scatter(%x: tensor<4x8xf32>, %s: tensor<4x4xf32>, %v: tensor<f32>) -> tensor<4x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, k], [i, j], [])->([i, k]) {i=4, j=4, k=8} need_replication={j} permutation={k}>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %v) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
