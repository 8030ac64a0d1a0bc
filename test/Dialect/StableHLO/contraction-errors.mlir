// RUN: mpmd-opt %s -split-input-file -verify-diagnostics

func.func @dot_takes_vectors_and_matrices(%x: tensor<f32>) {
  // expected-error@+1 {{either 1 or 2}}
  %0 = stablehlo.dot %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @dot_inner_dimensions_agree(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{inner dimensions}}
  %0 = stablehlo.dot %x, %x : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @dot_result_has_outer_dimensions(%x: tensor<3x3xf32>) {
  // expected-error@+1 {{is incompatible with return type}}
  %0 = stablehlo.dot %x, %x : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @dot_general_batching_pairs_up(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error@+1 {{same number of batching dimensions}}
  %0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dot_general_contracting_pairs_up(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error@+1 {{same number of contracting dimensions}}
  %0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dot_general_dimension_is_in_range(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error@+1 {{lhs dimension 2 is out of range}}
  %0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dot_general_dimension_occurs_once(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error@+1 {{duplicated dimension 1}}
  %0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1, 1], rhs_contracting_dimensions = [0, 1]>}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dot_general_sizes_agree(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error@+1 {{contracting dimension sizes must match}}
  %0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dot_general_result_is_free_dimensions(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error@+1 {{is incompatible with return type}}
  %0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<>}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dot_general_algorithm_sets_precision(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error@+1 {{must specify DEFAULT precision config}}
  %0 = "stablehlo.dot_general"(%x, %y) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>]}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @precision_has_at_most_two_entries(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) {
  // expected-error@+1 {{at most 2 elements}}
  %0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>, #stablehlo<precision HIGH>]}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @quantized_sides_agree(%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %y: tensor<3x2xf32>) {
  // expected-error@+1 {{rhs should be quantized}}
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @quantized_rhs_has_no_zero_point(%x: tensor<2x3xf32>, %y: tensor<3x2x!quant.uniform<i8:f32, 0.5:3>>) {
  // expected-error@+1 {{zero point of rhs must be 0}}
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x2xf32>
  return
}

// -----

func.func @convolution_spatial_dimensions_fill_rank(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{spatial dimensions in the input}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @convolution_window_list_has_spatial_size(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{expects window_strides to have 1 entries}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @convolution_groups_are_exclusive(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{not to be both greater than 1}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 2 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @convolution_batch_groups_divide_batch(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{input batch dimension size}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @convolution_feature_groups_divide_features(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{input feature dimension size}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @convolution_kernel_takes_group_features(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{kernel's input feature dimension size}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @convolution_result_counts_windows(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{is incompatible with return type}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x8x6xf32>
  return
}

// -----

func.func @convolution_pad_has_pairs(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{expected two numbers}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @convolution_window_field_once(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{duplicate `stride` entry}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @convolution_window_field_known(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{unexpected `step`, expected one of}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {step = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @convolution_elements_agree(%x: tensor<2x8x4xf32>, %k: tensor<3x4x6xf16>) {
  // expected-error@+1 {{compatible element types}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x4xf32>, tensor<3x4x6xf16>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @fft_has_up_to_three_lengths(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+2 {{1 to 3 lengths}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %x, type = FFT, length = [] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @fft_rank_covers_lengths(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+2 {{at least the number of lengths}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %x, type = FFT, length = [8, 8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @fft_takes_complex(%x: tensor<8xf32>) {
  // expected-error@+2 {{to be complex for FFT}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %x, type = FFT, length = [8] : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @rfft_takes_its_lengths(%x: tensor<8xf32>) {
  // expected-error@+2 {{according to the fft_length}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %x, type = RFFT, length = [7] : (tensor<8xf32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @cholesky_takes_square_matrices(%x: tensor<8x7xf32>) {
  // expected-error@+2 {{must have equal size}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.cholesky %x : tensor<8x7xf32>
  return
}

// -----

func.func @triangular_solve_shares_dimension(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) {
  // expected-error@+2 {{shared dimension}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @triangular_solve_ranks_agree(%a: tensor<4x4xf32>, %b: tensor<4xf32>) {
  // expected-error@+2 {{equal rank}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @triangular_solve_needs_a_transpose(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) {
  // expected-error@+2 {{invalid transpose option}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @batch_norm_feature_is_in_range(%x: tensor<2x4xf32>, %v: tensor<4xf32>) {
  // expected-error@+2 {{smaller than the rank}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.batch_norm_inference"(%x, %v, %v, %v, %v) <{epsilon = 0.5 : f32, feature_index = 2 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @batch_norm_vectors_have_feature_size(%x: tensor<2x4xf32>, %v: tensor<4xf32>) {
  // expected-error@+2 {{compatible with feature count}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.batch_norm_inference"(%x, %v, %v, %v, %v) <{epsilon = 0.5 : f32, feature_index = 0 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @convolution_has_too_many_windows(%x: tensor<1x9223372036854775807x1xf32>, %k: tensor<1x1x1xf32>) {
  // expected-error@+1 {{has more than 2^63 - 1 windows along dimension 0}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9223372036854775807x1xf32>, tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  return
}
