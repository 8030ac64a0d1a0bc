// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | mpmd-opt | FileCheck %s

// CHECK-LABEL: func @dot_with_and_without_precision
func.func @dot_with_and_without_precision(%v: tensor<4xf32>, %m: tensor<4x2xf32>) -> tensor<2xf32> {
  // CHECK: stablehlo.dot %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %0 = stablehlo.dot %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  // CHECK: stablehlo.dot %{{.*}}, %{{.*}}, precision = [HIGHEST, DEFAULT] {note} : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
  %1 = stablehlo.dot %v, %m, precision = [HIGHEST, DEFAULT] {note} : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func @dot_general_prints_batching_only_if_there
func.func @dot_general_prints_batching_only_if_there(%a: tensor<2x5x3xf32>, %b: tensor<2x3xf32>) {
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x5x3xf32>, tensor<2x3xf32>) -> tensor<2x5xf32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x5x3xf32>, tensor<2x3xf32>) -> tensor<2x5xf32>
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [0] x [0], precision = [] : (tensor<2x5x3xf32>, tensor<2x3xf32>) -> tensor<5x3x3xf32>
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0], precision = [] : (tensor<2x5x3xf32>, tensor<2x3xf32>) -> tensor<5x3x3xf32>
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [] x [], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> {note} : (tensor<2x5x3xf32>, tensor<2x3xf32>) -> tensor<2x5x3x2x3xf32>
  %2 = stablehlo.dot_general %a, %b, contracting_dims = [] x [], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> {note} : (tensor<2x5x3xf32>, tensor<2x3xf32>) -> tensor<2x5x3x2x3xf32>
  return
}

// CHECK-LABEL: func @convolution_prints_given_window_fields
func.func @convolution_prints_given_window_fields(%x: tensor<1x8x2xi8>, %k: tensor<3x2x4xi8>) {
  // CHECK: stablehlo.convolution(%{{.*}}, %{{.*}}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x2xi8>, tensor<3x2x4xi8>) -> tensor<1x6x4xi32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x2xi8>, tensor<3x2x4xi8>) -> tensor<1x6x4xi32>
  // CHECK: stablehlo.convolution(%{{.*}}, %{{.*}}) dim_numbers = [b, 0, f]x[0, i, o]->[f, 0, b], window = {pad = {{\[\[}}1, 0{{\]\]}}, rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x2xi8>, tensor<3x2x4xi8>) -> tensor<4x5x1xi32>
  %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[f, 0, b], window = {pad = [[1, 0]], rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x2xi8>, tensor<3x2x4xi8>) -> tensor<4x5x1xi32>
  return
}

// CHECK-LABEL: func @convolution_reads_numbers_as_booleans
func.func @convolution_reads_numbers_as_booleans(%x: tensor<1x8x8x2xi8>, %k: tensor<3x3x2x4xi8>) {
  // CHECK: window = {reverse = [true, false]}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [-2, 0]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x2xi8>, tensor<3x3x2x4xi8>) -> tensor<1x6x6x4xi32>
  return
}

// CHECK-LABEL: func @linear_algebra
func.func @linear_algebra(%a: tensor<2x3x3xf64>, %b: tensor<2x3x5xf64>) {
  // CHECK: stablehlo.cholesky %{{.*}} : tensor<2x3x3xf64>
  %0 = stablehlo.cholesky %a : tensor<2x3x3xf64>
  // CHECK: stablehlo.cholesky %{{.*}}, lower = true : tensor<2x3x3xf64>
  %1 = stablehlo.cholesky %a, lower = true : tensor<2x3x3xf64>
  // CHECK: "stablehlo.triangular_solve"(%{{.*}}, %{{.*}}) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (tensor<2x3x3xf64>, tensor<2x3x5xf64>) -> tensor<2x3x5xf64>
  %2 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (tensor<2x3x3xf64>, tensor<2x3x5xf64>) -> tensor<2x3x5xf64>
  return
}

// CHECK-LABEL: func @fourier_transforms
func.func @fourier_transforms(%x: tensor<3x6xf32>, %c: tensor<3x6xcomplex<f32>>) {
  // CHECK: stablehlo.fft %{{.*}}, type = RFFT, length = [6] : (tensor<3x6xf32>) -> tensor<3x4xcomplex<f32>>
  %0 = stablehlo.fft %x, type = RFFT, length = [6] : (tensor<3x6xf32>) -> tensor<3x4xcomplex<f32>>
  // CHECK: stablehlo.fft %{{.*}}, type = IRFFT, length = [10] : (tensor<3x6xcomplex<f32>>) -> tensor<3x10xf32>
  %1 = stablehlo.fft %c, type = IRFFT, length = [10] : (tensor<3x6xcomplex<f32>>) -> tensor<3x10xf32>
  // CHECK: stablehlo.fft %{{.*}}, type = FFT, length = [3, 6] : (tensor<3x6xcomplex<f32>>) -> tensor<3x6xcomplex<f32>>
  %2 = stablehlo.fft %c, type = FFT, length = [3, 6] : (tensor<3x6xcomplex<f32>>) -> tensor<3x6xcomplex<f32>>
  return
}

// CHECK-LABEL: func @einstein_sums_are_not_checked
func.func @einstein_sums_are_not_checked(%x: tensor<3x6xf32>) {
  // CHECK: stablehlo.einsum %{{.*}}, %{{.*}}, config = "anything" : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<f32>
  %0 = stablehlo.einsum %x, %x, config = "anything" : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<f32>
  // CHECK: stablehlo.unary_einsum %{{.*}}, config = "ab->" : (tensor<3x6xf32>) -> tensor<f32>
  %1 = stablehlo.unary_einsum %x, config = "ab->" : (tensor<3x6xf32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func @batch_norms
func.func @batch_norms(%x: tensor<2x4xf32>, %v: tensor<4xf32>) {
  // CHECK: "stablehlo.batch_norm_grad"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{epsilon = 5.000000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %grad_operand, %grad_scale, %grad_offset = "stablehlo.batch_norm_grad"(%x, %v, %v, %v, %x) <{epsilon = 5.000000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: "stablehlo.batch_norm_inference"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{epsilon = 5.000000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %0 = "stablehlo.batch_norm_inference"(%x, %v, %v, %v, %v) <{epsilon = 5.000000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK: "stablehlo.batch_norm_training"(%{{.*}}, %{{.*}}, %{{.*}}) <{epsilon = 5.000000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%x, %v, %v) <{epsilon = 5.000000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}
