// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @reduces_contracted_dimension
func.func @reduces_contracted_dimension(%x: tensor<12x8xf32>, %y: tensor<8x4xf32>) -> tensor<12x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=12, j=4, k=8} reduction={k}>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<12x8xf32>, tensor<8x4xf32>) -> tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}

// CHECK-LABEL: func @numbers_batches_in_order_of_dimension_numbers
func.func @numbers_batches_in_order_of_dimension_numbers(%x: tensor<2x4x8x3xf32>, %y: tensor<3x2x8x5xf32>) -> tensor<3x2x4x5xf32> {
  // CHECK: #sdy.op_sharding_rule<([j, k, m, i], [i, j, m, l])->([i, j, k, l]) {i=3, j=2, k=4, l=5, m=8} reduction={m}>
  %0 = stablehlo.dot_general %x, %y, batching_dims = [3, 0] x [0, 1], contracting_dims = [2] x [2] : (tensor<2x4x8x3xf32>, tensor<3x2x8x5xf32>) -> tensor<3x2x4x5xf32>
  return %0 : tensor<3x2x4x5xf32>
}

// CHECK-LABEL: func @reduces_all_dimensions_of_scalar_product
func.func @reduces_all_dimensions_of_scalar_product(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<f32> {
  // CHECK: #sdy.op_sharding_rule<([i, j], [j, i])->([]) {i=4, j=8} reduction={i, j}>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0, 1] x [1, 0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func @dot_of_matrices
func.func @dot_of_matrices(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>) -> tensor<4x2xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=4, j=2, k=8} reduction={k}>
  %0 = stablehlo.dot %x, %y : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// CHECK-LABEL: func @dot_of_vector_and_matrix
func.func @dot_of_vector_and_matrix(%x: tensor<8xf32>, %y: tensor<8x2xf32>) -> tensor<2xf32> {
  // CHECK: #sdy.op_sharding_rule<([j], [j, i])->([i]) {i=2, j=8} reduction={j}>
  %0 = stablehlo.dot %x, %y : (tensor<8xf32>, tensor<8x2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func @dot_of_vectors
func.func @dot_of_vectors(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<f32> {
  // CHECK: #sdy.op_sharding_rule<([i], [i])->([]) {i=8} reduction={i}>
  %0 = stablehlo.dot %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
