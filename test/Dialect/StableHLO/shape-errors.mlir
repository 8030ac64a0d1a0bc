// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

func.func @reshape_keeps_the_number_of_elements(%x: tensor<4xf32>) {
  // expected-error@+1 {{number of output elements (5) doesn't match expected number of elements (4)}}
  %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @reshape_keeps_the_element_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires compatible element types}}
  %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<2x2xi32>
  return
}

// -----

func.func @reshape_to_a_dynamic_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{result #0 must be statically shaped or single bounded dimension tensor}}
  %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @computed_shape_of_another_rank(%x: tensor<4xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{output_shape has 2 elements, but the rank of 'tensor<4xf32>' is 1}}
  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @computed_shape_that_does_not_fit(%x: tensor<4xf32>) {
  %c = stablehlo.constant dense<[2, 2]> : tensor<2xi64>
  // expected-error@+1 {{output_shape is [2, 2], which does not fit}}
  %0 = stablehlo.dynamic_reshape %x, %c : (tensor<4xf32>, tensor<2xi64>) -> tensor<4x?xf32>
  return
}

// -----

func.func @computed_shape_of_other_size(%x: tensor<4xf32>) {
  %c = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+1 {{doesn't match expected number of elements (4)}}
  %0 = stablehlo.dynamic_reshape %x, %c : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @bitcast_of_complex_to_real(%x: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{cannot convert between real and complex types}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xcomplex<f32>>) -> tensor<4xi64>
  return
}

// -----

func.func @bitcast_of_equal_width_keeps_the_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{elements of equal width keep the shape}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<5xi32>
  return
}

// -----

func.func @bitcast_to_narrower_elements_adds_a_dimension(%x: tensor<4xf32>) {
  // expected-error@+1 {{must be one more than that of the wider type}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xi8>
  return
}

// -----

func.func @bitcast_to_too_few_parts(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires compatible bit widths}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x3xi8>
  return
}

// -----

func.func @permutation_with_duplicate(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{permutation has entry 0 twice}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.transpose %x, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @permutation_of_other_length(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{permutation has 1 entries, but the rank of the operand is 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.transpose %x, dims = [0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transposed_shape_is_inferred(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<3x2xf32>' are incompatible}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reversed_dimension_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dimensions has entry 2, which is out of range}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.reverse %x, dims = [2] : tensor<2x3xf32>
  return
}

// -----

func.func @negative_broadcast_size(%x: tensor<4xf32>) {
  // expected-error@+2 {{broadcast with negative dimension size -2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.broadcast %x, sizes = [-2] : (tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @broadcast_of_other_rank(%x: tensor<4xf32>) {
  // expected-error@+1 {{broadcast_dimensions size (2) does not match operand rank (1)}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @broadcast_into_missing_dimension(%x: tensor<4xf32>) {
  // expected-error@+1 {{broadcast_dimensions has entry 2, which is out of range}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [2] : (tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @broadcast_into_other_size(%x: tensor<4xf32>) {
  // expected-error@+1 {{size of operand dimension 0 (4) is not equal to 1 or size of result dimension 0 (3)}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @known_dimension_that_is_both(%x: tensor<4xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{known_nonexpanding_dimensions has entry 0 twice}}
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  return
}

// -----

func.func @slice_of_other_rank(%x: tensor<4xf32>) {
  // expected-error@+2 {{start_indices has 2 entries, but the rank of the operand is 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [0:2, 0:2] : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_from_negative_start(%x: tensor<4xf32>) {
  // expected-error@+2 {{negative start index -1 in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [-1:2] : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @slice_beyond_the_end(%x: tensor<4xf32>) {
  // expected-error@+2 {{limit index 5 is larger than dimension size 4 in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [1:5] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_that_ends_before_its_start(%x: tensor<4xf32>) {
  // expected-error@+2 {{start index 3 is larger than limit index 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [3:2] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_without_stride(%x: tensor<4xf32>) {
  // expected-error@+2 {{stride must be positive but got 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [1:2:0] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_size_is_rounded_up(%x: tensor<4xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [0:4:3] : (tensor<4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @dynamic_slice_with_too_many_starts(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+2 {{start_indices has 2 entries, but the rank of the operand is 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1] : (tensor<4xf32>, tensor<i32>, tensor<i32>) -> tensor<1xf32>
  return
}

// -----

func.func @dynamic_slice_with_mixed_starts(%x: tensor<2x3xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // expected-error@+2 {{start indices must have same element type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 1] : (tensor<2x3xf32>, tensor<i32>, tensor<i64>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic_slice_that_is_too_big(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+2 {{has slice size 5 greater than dimension size 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [5] : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @update_of_other_rank(%x: tensor<4xf32>, %u: tensor<1x1xf32>, %i: tensor<i32>) {
  // expected-error@+2 {{update rank 2 does not match operand rank 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<1x1xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @update_that_is_too_big(%x: tensor<4xf32>, %u: tensor<5xf32>, %i: tensor<i32>) {
  // expected-error@+2 {{expects size 5 of dimension 0 of update to be in range [0, 4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<5xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_to_another_scale(%x: tensor<4x!quant.uniform<i8:f32, 1.0>>, %i: tensor<i32>) {
  // expected-error@+1 {{all of {operand, result} have same element type}}
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<4x!quant.uniform<i8:f32, 1.0>>, tensor<i32>) -> tensor<2x!quant.uniform<i8:f32, 2.0>>
  return
}

// -----

!q = tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
func.func @broadcast_that_leaves_scales_behind(%x: !q) {
  // expected-error@+1 {{requires compatible element types, but got '!quant.uniform<i8:f32:1, {1.000000e+00,2.000000e+00}>' and '!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>'}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (!q) -> !q
  return
}

// -----

!q = tensor<3x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
!r = tensor<2x3x!quant.uniform<i8:f32:1, {1.0, 2.0, 3.0}>>
func.func @dynamic_reshape_that_changes_scales(%x: !q, %s: tensor<2xi32>) {
  // expected-error@+1 {{moves the quantized dimension}}
  %0 = stablehlo.dynamic_reshape %x, %s : (!q, tensor<2xi32>) -> !r
  return
}

// -----

func.func @real_dynamic_slice_with_mixed_indices(%x: tensor<4xf32>, %s: tensor<1xindex>, %t: tensor<1xi32>) {
  // expected-error@+1 {{start_indices, limit_indices and strides must have the same type}}
  %0 = stablehlo.real_dynamic_slice %x, %s, %s, %t : (tensor<4xf32>, tensor<1xindex>, tensor<1xindex>, tensor<1xi32>) -> tensor<?xf32>
  return
}

// -----

func.func @padding_of_other_length(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{edge_padding_low has 2 entries, but the rank of the operand is 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [0, 0], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @negative_interior_padding(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{interior padding -1 of dimension 0 is negative}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [0], high = [0], interior = [-1] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @padding_that_removes_too_much(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{padding makes the size -2 of dimension 0 negative}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [-3], high = [-3], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @constant_paddings_are_checked(%x: tensor<4xf32>, %v: tensor<f32>) {
  %c = stablehlo.constant dense<1> : tensor<1xi32>
  // expected-error@+1 {{padded shape [9] does not fit the result}}
  %0 = stablehlo.dynamic_pad %x, %v, %c, %c, %c : (tensor<4xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @concatenation_of_nothing() {
  // expected-error@+1 {{expected 1 or more operands, but found 0}}
  %0 = "stablehlo.concatenate"() <{dimension = 0 : i64}> : () -> tensor<4xf32>
  return
}

// -----

func.func @concatenation_of_scalars(%v: tensor<f32>) {
  // expected-error@+2 {{dimension 0 is out of range, expected less than the rank 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.concatenate %v, dim = 0 : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @concatenation_of_other_sizes(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+2 {{shapes of operand (0) and (1) do not match at non-concat index 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @size_of_missing_dimension(%x: tensor<4xf32>) {
  // expected-error@+2 {{dimension 1 is out of range}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<4xf32>) -> tensor<i32>
  return
}

// -----

func.func @set_size_keeps_the_bound(%x: tensor<4xf32>, %n: tensor<i32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<?xf32, #stablehlo.bounds<4>>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @set_size_is_a_scalar(%x: tensor<4xf32>, %n: tensor<1xi32>) {
  // expected-error@+2 {{size operand should be of rank-0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>
  return
}

// -----

// Sizes that do not fit into 64 bits must not wrap around.
func.func @interior_padding_makes_too_large_a_size(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{padding makes the size of dimension 0 more than 2^63 - 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [0], high = [0], interior = [9223372036854775807] : (tensor<3xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @edge_padding_makes_too_large_a_size(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{padding makes the size of dimension 0 more than 2^63 - 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [9223372036854775807], high = [9223372036854775807], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @negative_padding_makes_too_small_a_size(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{padding makes the size -9223372036854775808 of dimension 0 negative}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [-9223372036854775807], high = [-9223372036854775807], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @dynamic_padding_makes_too_large_a_size(%x: tensor<3xf32>, %v: tensor<f32>) {
  %z = stablehlo.constant dense<0> : tensor<1xi64>
  %i = stablehlo.constant dense<9223372036854775807> : tensor<1xi64>
  // expected-error@+1 {{padding makes the size of dimension 0 more than 2^63 - 1}}
  %0 = stablehlo.dynamic_pad %x, %v, %z, %z, %i : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @padding_of_a_bounded_dimension_makes_too_large_a_bound(%x: tensor<?xf32, #stablehlo.bounds<3>>, %v: tensor<f32>) {
  // expected-error@+2 {{padding makes the size of dimension 0 more than 2^63 - 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [0], high = [0], interior = [9223372036854775807] : (tensor<?xf32, #stablehlo.bounds<3>>, tensor<f32>) -> tensor<?xf32>
  return
}

// -----

func.func @concatenation_makes_too_large_a_size(%x: tensor<9223372036854775807xf32>) {
  // expected-error@+2 {{makes the size of dimension 0 more than 2^63 - 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.concatenate %x, %x, %x, dim = 0 : (tensor<9223372036854775807xf32>, tensor<9223372036854775807xf32>, tensor<9223372036854775807xf32>) -> tensor<9223372036854775805xf32>
  return
}

// -----

// The product is 2^64, which wraps around to 0.
func.func @reshape_counts_beyond_64_bits(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error@+1 {{number of output elements (0) doesn't match expected number of elements (more than 2^63 - 1)}}
  %0 = stablehlo.reshape %x : (tensor<4294967296x4294967296xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @reshape_compares_beyond_64_bits(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error@+1 {{doesn't match expected number of elements}}
  %0 = stablehlo.reshape %x : (tensor<4294967296x4294967296xf32>) -> tensor<4294967296x8589934592xf32>
  return
}

// -----

// 8 (2^61 + 2) wraps around to 16.
func.func @bitcast_counts_bits_beyond_64_bits(%x: tensor<2305843009213693954xi8>) {
  // expected-error@+1 {{requires compatible bit widths}}
  %0 = stablehlo.bitcast_convert %x : (tensor<2305843009213693954xi8>) -> tensor<i16>
  return
}
