// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @batch_norm_inference
func.func @batch_norm_inference(%x: tensor<2x4x8xf32>, %v: tensor<4xf32>) -> tensor<2x4x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, k], [j], [j], [j], [j])->([i, j, k]) {i=2, j=4, k=8}>
  %0 = "stablehlo.batch_norm_inference"(%x, %v, %v, %v, %v) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// CHECK-LABEL: func @cholesky
func.func @cholesky(%x: tensor<3x5x4x4xf32>) -> tensor<3x5x4x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, k, l])->([i, j, k, l]) {i=3, j=5, k=4, l=4} need_replication={k, l}>
  %0 = stablehlo.cholesky %x, lower = true : tensor<3x5x4x4xf32>
  return %0 : tensor<3x5x4x4xf32>
}

// CHECK-LABEL: func @fft
func.func @fft(%x: tensor<3x4x8xcomplex<f32>>) -> tensor<3x4x8xcomplex<f32>> {
  // CHECK: #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=3, j=4, k=8} need_replication={k}>
  %0 = stablehlo.fft %x, type = FFT, length = [8] : (tensor<3x4x8xcomplex<f32>>) -> tensor<3x4x8xcomplex<f32>>
  return %0 : tensor<3x4x8xcomplex<f32>>
}

// CHECK-LABEL: func @fft_blocks_dimension_that_changes
func.func @fft_blocks_dimension_that_changes(%x: tensor<3x4x8xf32>) -> tensor<3x4x5xcomplex<f32>> {
  // CHECK: #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=3, j=4, k=8} need_replication={j, k} blocked_propagation={k}>
  %0 = stablehlo.fft %x, type = RFFT, length = [4, 8] : (tensor<3x4x8xf32>) -> tensor<3x4x5xcomplex<f32>>
  return %0 : tensor<3x4x5xcomplex<f32>>
}

// CHECK-LABEL: func @solves_from_the_left
func.func @solves_from_the_left(%a: tensor<3x4x4xf32>, %b: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, l], [i, j, k])->([i, l, k]) {i=3, j=4, k=6, l=4} need_replication={j, k, l}>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x4x4xf32>, tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  return %0 : tensor<3x4x6xf32>
}

// CHECK-LABEL: func @solves_transposed_from_the_left
func.func @solves_transposed_from_the_left(%a: tensor<3x4x4xf32>, %b: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, l, j], [i, j, k])->([i, l, k]) {i=3, j=4, k=6, l=4} need_replication={j, k, l}>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<3x4x4xf32>, tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  return %0 : tensor<3x4x6xf32>
}

// CHECK-LABEL: func @solves_from_the_right
func.func @solves_from_the_right(%a: tensor<3x6x6xf32>, %b: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, l, k], [i, j, k])->([i, j, l]) {i=3, j=4, k=6, l=6} need_replication={j, k, l}>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x6x6xf32>, tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  return %0 : tensor<3x4x6xf32>
}

// CHECK-LABEL: func @solves_transposed_from_the_right
func.func @solves_transposed_from_the_right(%a: tensor<3x6x6xf32>, %b: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, k, l], [i, j, k])->([i, j, l]) {i=3, j=4, k=6, l=6} need_replication={j, k, l}>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<3x6x6xf32>, tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  return %0 : tensor<3x4x6xf32>
}
