// RUN: mpmd-opt %s -split-input-file -verify-diagnostics

func.func @function_keeps_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{must have the same shape}}
  %0 = chlo.erf %x : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @function_takes_floats(%x: tensor<4xi32>) {
  // expected-error@+1 {{operand #0 must be tensor of floating-point}}
  %0 = chlo.erf %x : tensor<4xi32> -> tensor<4xi32>
  return
}

// -----

func.func @predicate_returns_booleans(%x: tensor<4xf32>) {
  // expected-error@+1 {{result #0 must be tensor of}}
  %0 = chlo.is_inf %x : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @sizes_that_meet_broadcast(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+2 {{do not broadcast: sizes}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = chlo.broadcast_add %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_dimensions_fit_lower_rank(%x: tensor<4xf32>, %y: tensor<3x4xf32>) {
  // expected-error@+2 {{expected one per dimension of the operand of lower rank}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 0, 1>} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @broadcast_dimensions_are_in_range(%x: tensor<4xf32>, %y: tensor<3x4xf32>) {
  // expected-error@+2 {{must be increasing and in range [0, 2)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 2>} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @broadcast_result_is_inferred(%x: tensor<4xf32>, %y: tensor<3x4xf32>) {
  // expected-error@+2 {{are incompatible with return type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = chlo.broadcast_subtract %x, %y : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_select_values_agree(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xi8>) {
  // expected-error@+2 {{values of one element type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = chlo.broadcast_select %p, %x, %y : (tensor<i1>, tensor<4xf32>, tensor<4xi8>) -> tensor<4xf32>
  return
}

// -----

func.func @top_k_takes_a_dimension(%x: tensor<f32>) {
  // expected-error@+2 {{rank must be at least 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:2 = chlo.top_k(%x, k = 1) : tensor<f32> -> (tensor<f32>, tensor<i32>)
  return
}

// -----

func.func @top_k_has_enough_elements(%x: tensor<4xf32>) {
  // expected-error@+2 {{last dimension must be at least 5}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:2 = chlo.top_k(%x, k = 5) : tensor<4xf32> -> (tensor<5xf32>, tensor<5xi32>)
  return
}

// -----

func.func @top_k_indices_are_i32(%x: tensor<4xf32>) {
  // expected-error@+2 {{are incompatible with return type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:2 = chlo.top_k(%x, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi64>)
  return
}

// -----

func.func @constant_like_has_type_of_value(%x: tensor<4xf32>) {
  // expected-error@+2 {{are incompatible with return type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "chlo.constant_like"(%x) <{value = 1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @ragged_dot_has_one_ragged_dimension(%a: tensor<12x5xf32>, %b: tensor<3x5x7xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{exactly one ragged dimension}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<12x5xf32>, tensor<3x5x7xf32>, tensor<3xi32>) -> tensor<12x7xf32>
  return
}

// -----

func.func @ragged_dot_has_group_dimension(%a: tensor<12x5xf32>, %b: tensor<3x5x7xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expects 1 group dimension(s)}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>}> : (tensor<12x5xf32>, tensor<3x5x7xf32>, tensor<3xi32>) -> tensor<12x7xf32>
  return
}

// -----

func.func @ragged_dot_group_dimension_has_groups(%a: tensor<12x5xf32>, %b: tensor<3x5x7xf32>, %n: tensor<4xi32>) {
  // expected-error@+1 {{to have the number of groups}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x5xf32>, tensor<3x5x7xf32>, tensor<4xi32>) -> tensor<12x7xf32>
  return
}

// -----

func.func @ragged_dot_group_sizes_have_prefix(%a: tensor<12x5xf32>, %b: tensor<3x5x7xf32>, %n: tensor<2x3xi32>) {
  // expected-error@+1 {{expects group_sizes to have rank 1}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x5xf32>, tensor<3x5x7xf32>, tensor<2x3xi32>) -> tensor<12x7xf32>
  return
}

// -----

func.func @ragged_dot_sizes_of_contracted_dimensions(%a: tensor<4x5x8xf32>, %b: tensor<5x8x6xf32>, %n: tensor<4x3xi32>) {
  // expected-error@+1 {{expects group_sizes to have rank 1, or shape [5] before the dimension of the groups}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1, 2], rhs_contracting_dimensions = [0, 1], lhs_ragged_dimensions = [2]>}> : (tensor<4x5x8xf32>, tensor<5x8x6xf32>, tensor<4x3xi32>) -> tensor<3x4x6xf32>
  return
}

// -----

func.func @ragged_dot_sizes_of_ragged_batches(%a: tensor<2x3x5x8xf32>, %b: tensor<2x3x8x6xf32>, %n: tensor<3x4xi32>) {
  // expected-error@+1 {{expects group_sizes to have rank 1, or shape [2] before the dimension of the groups}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1]>}> : (tensor<2x3x5x8xf32>, tensor<2x3x8x6xf32>, tensor<3x4xi32>) -> tensor<2x3x5x6xf32>
  return
}

// -----

func.func @ragged_dot_result_is_inferred(%a: tensor<12x5xf32>, %b: tensor<3x5x7xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{is incompatible with return type}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x5xf32>, tensor<3x5x7xf32>, tensor<3xi32>) -> tensor<7x12xf32>
  return
}

// -----

func.func @ragged_dot_sizes_agree(%a: tensor<12x5xf32>, %b: tensor<3x5x7xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{contracting dimension sizes must match}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x5xf32>, tensor<3x5x7xf32>, tensor<3xi32>) -> tensor<12x5xf32>
  return
}

// -----

func.func @ragged_dot_dimension_occurs_once(%a: tensor<12x5xf32>, %b: tensor<3x5x7xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{duplicated dimension 1}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [1]>}> : (tensor<12x5xf32>, tensor<3x5x7xf32>, tensor<3xi32>) -> tensor<12x7xf32>
  return
}

// -----

func.func @scan_dimension_is_in_range(%x: tensor<6x2xf32>, %i: tensor<2xf32>) {
  // expected-error@+2 {{out of range for input}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:2 = chlo.scan(%x) inits (%i) dimension=2 {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    stablehlo.return %a, %b : tensor<2xf32>, tensor<2xf32>
  } : (tensor<6x2xf32>, tensor<2xf32>) -> (tensor<6x2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @scan_sizes_agree(%x: tensor<6x2xf32>, %i: tensor<2xf32>) {
  // expected-error@+2 {{expects inputs of size 5}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:2 = chlo.scan(%x) inits (%i) dimension=0 attributes {scan_dim_size = 5 : i64} {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    stablehlo.return %a, %b : tensor<2xf32>, tensor<2xf32>
  } : (tensor<6x2xf32>, tensor<2xf32>) -> (tensor<6x2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @scan_output_has_scan_dimension(%x: tensor<6x2xf32>, %i: tensor<2xf32>) {
  // expected-error@+2 {{are incompatible with return type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:2 = chlo.scan(%x) inits (%i) dimension=0 {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    stablehlo.return %a, %b : tensor<2xf32>, tensor<2xf32>
  } : (tensor<6x2xf32>, tensor<2xf32>) -> (tensor<5x2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @scan_body_takes_slices(%x: tensor<6x2xf32>, %i: tensor<2xf32>) {
  // expected-error@+1 {{expects argument 0 of its body}}
  %0:2 = chlo.scan(%x) inits (%i) dimension=0 {
  ^bb0(%a: tensor<6x2xf32>, %b: tensor<2xf32>):
    stablehlo.return %b, %b : tensor<2xf32>, tensor<2xf32>
  } : (tensor<6x2xf32>, tensor<2xf32>) -> (tensor<6x2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @scan_body_takes_one_argument_per_operand(%x: tensor<6x2xf32>, %i: tensor<2xf32>) {
  // expected-error@+1 {{expects its body to have 2 arguments}}
  %0:2 = chlo.scan(%x) inits (%i) dimension=0 {
  ^bb0(%b: tensor<2xf32>):
    stablehlo.return %b, %b : tensor<2xf32>, tensor<2xf32>
  } : (tensor<6x2xf32>, tensor<2xf32>) -> (tensor<6x2xf32>, tensor<2xf32>)
  return
}

// -----

// expected-error@+1 {{expected one of: `lhs_batching_dimensions`}}
func.func @ragged_dot_field_is_known() attributes {my.a = #chlo.ragged_dot<groups = [0]>} {
  return
}

// -----

func.func @broadcast_logic_takes_one_element_type(%x: tensor<4xi32>, %y: tensor<4xi1>) {
  // expected-error@+2 {{expects operands of compatible element types, but got 'tensor<4xi32>' and 'tensor<4xi1>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = chlo.broadcast_and %x, %y : (tensor<4xi32>, tensor<4xi1>) -> tensor<4xi32>
  return
}

// -----

func.func @broadcast_complex_takes_one_element_type(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+2 {{expects operands of compatible element types}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = chlo.broadcast_complex %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @broadcast_compare_takes_one_element_type(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error@+2 {{expects operands of compatible element types}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @scan_takes_ranked_operands(%x: tensor<*xf32>, %c: tensor<4xf32>) {
  // expected-error@+1 {{expects operand 0 to be ranked, but it is 'tensor<*xf32>'}}
  %0:2 = chlo.scan(%x) inits (%c) dimension=0 {
  ^bb0(%input: tensor<*xf32>, %carry: tensor<4xf32>):
    stablehlo.return %carry, %carry : tensor<4xf32>, tensor<4xf32>
  } : (tensor<*xf32>, tensor<4xf32>) -> (tensor<6x4xf32>, tensor<4xf32>)
  return
}
