// RUN: mpmd-opt %s -allow-unregistered-dialect -split-input-file \
// RUN:   -verify-diagnostics

func.func @if_predicate_is_scalar(%p: tensor<2xi1>) {
  // expected-error@+2 {{to be a scalar}}
  // expected-error@+1 {{failed to infer returned types}}
  "stablehlo.if"(%p) ({
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<2xi1>) -> ()
  return
}

// -----

func.func @if_branches_have_no_arguments(%p: tensor<i1>) {
  // expected-error@+2 {{branch 1 must have 0 arguments, but found 1}}
  // expected-error@+1 {{failed to infer returned types}}
  "stablehlo.if"(%p) ({
    stablehlo.return
  }, {
  ^bb0(%a: tensor<f32>):
    stablehlo.return
  }) : (tensor<i1>) -> ()
  return
}

// -----

func.func @if_branches_return_compatible_types(%p: tensor<i1>, %x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error@+2 {{incompatible return types}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    stablehlo.return %y : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return
}

// -----

func.func @if_results_fit_branches(%p: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+2 {{are incompatible with return type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    stablehlo.return %x : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  return
}

// -----

func.func @case_has_a_branch(%i: tensor<i32>) {
  // expected-error@+2 {{expects at least one branch}}
  // expected-error@+1 {{failed to infer returned types}}
  "stablehlo.case"(%i) : (tensor<i32>) -> ()
  return
}

// -----

func.func @case_branches_return_as_many_values(%i: tensor<i32>, %x: tensor<2xf32>) {
  // expected-error@+2 {{different numbers of values: 1 vs 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    stablehlo.return
  }) : (tensor<i32>) -> tensor<2xf32>
  return
}

// -----

func.func @while_arguments_fit_operands(%x: tensor<i32>, %p: tensor<i1>) {
  // expected-error@+1 {{expects arguments of the body to be compatible with the operands}}
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<i32>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<i8>):
    stablehlo.return %x : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

func.func @while_condition_is_scalar(%x: tensor<i32>) {
  // expected-error@+1 {{zero-ranked tensor of i1}}
  %0 = stablehlo.while(%a = %x) : tensor<i32>
  cond {
    stablehlo.return %a : tensor<i32>
  } do {
    stablehlo.return %a : tensor<i32>
  }
  return
}

// -----

func.func @while_condition_returns_one_value(%p: tensor<i1>) {
  // expected-error@+1 {{return a single value}}
  stablehlo.while()
  cond {
    stablehlo.return
  } do {
    stablehlo.return
  }
  return
}

// -----

func.func @while_body_returns_what_is_carried(%x: tensor<i32>, %p: tensor<i1>) {
  // expected-error@+1 {{compatible with what the body returns}}
  %0 = stablehlo.while(%a = %x) : tensor<i32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %p : tensor<i1>
  }
  return
}

// -----

func.func @bodies_end_in_return(%p: tensor<i1>) {
  // expected-error@+2 {{expects regions to end with 'stablehlo.return'}}
  // expected-note@+1 {{implies 'stablehlo.return'}}
  stablehlo.while()
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    "other.terminator"() : () -> ()
  }
  return
}

// -----

func.func @reduce_inputs_have_one_shape(%x: tensor<4xf32>, %y: tensor<5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{compatible shapes}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:2 = stablehlo.reduce(%x init: %i), (%y init: %i) across dimensions = [0] : (tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<f32>, %d: tensor<f32>)  {
    stablehlo.return %a, %c : tensor<f32>, tensor<f32>
  }
  return
}

// -----

func.func @reduce_pairs_inputs_and_init_values(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{as many init values, but got 3 operands}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce"(%x, %i, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_dimension_is_in_range(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{out-of-bounds dimension 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [2] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>)  {
    stablehlo.return %a : tensor<f32>
  }
  return
}

// -----

func.func @reduce_dimension_is_unique(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{duplicate reduction dimension 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [1, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>)  {
    stablehlo.return %a : tensor<f32>
  }
  return
}

// -----

func.func @reduce_result_drops_dimensions(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{are incompatible with return type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>)  {
    stablehlo.return %a : tensor<f32>
  }
  return
}

// -----

func.func @reducer_takes_pairs(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{must take 2 parameters, but takes 1}}
  %0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reducer_arguments_have_returned_type(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{reduction-region's argument 0 is}}
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%a: tensor<i32>, %b: tensor<f32>)  {
    stablehlo.return %b : tensor<f32>
  }
  return
}

// -----

func.func @reducer_accumulator_has_returned_type(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{reduction-region's argument 1 is}}
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%a: tensor<f32>, %b: tensor<i32>)  {
    stablehlo.return %a : tensor<f32>
  }
  return
}

// -----

func.func @reducer_takes_subsequences_of_result(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{is no subsequence of the result's shape}}
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%a: tensor<7xf32>, %b: tensor<7xf32>)  {
    stablehlo.return %a : tensor<7xf32>
  }
  return
}

// -----

func.func @init_value_promotes(%x: tensor<4x5xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{does not promote to what the reduction-region returns}}
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<4x5xf32>, tensor<i32>) -> tensor<4xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>)  {
    stablehlo.return %a : tensor<f32>
  }
  return
}

// -----

func.func @input_promotes(%x: tensor<4x5xi32>, %i: tensor<i8>) {
  // expected-error@+1 {{element type of input 0}}
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<4x5xi32>, tensor<i8>) -> tensor<4xi8>
   reducer(%a: tensor<i8>, %b: tensor<i8>)  {
    stablehlo.return %a : tensor<i8>
  }
  return
}

// -----

func.func @short_form_applies_commutative_op(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{commutative binary-op}}
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.subtract across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @window_has_a_size_per_dimension(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{window-dimensions size == input rank}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @window_size_is_positive(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{window_dimensions to be positive}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @window_stride_is_positive(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{window_strides to be positive}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: -1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @window_lists_have_one_length(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{expects base_dilations to have 2 entries}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{base_dilations = array<i64: 1>, window_dimensions = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @window_padding_has_two_columns(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{{N, 2}}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{padding = dense<0> : tensor<2x3xi64>, window_dimensions = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @window_padding_has_a_row_per_dimension(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{expects padding to have 2 entries}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @window_result_counts_windows(%x: tensor<4x5xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{are incompatible with return type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @map_dimensions_count_up(%x: tensor<4x5xf32>) {
  // expected-error@+1 {{0, 1, ..., rank - 1}}
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 1, 0>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @map_takes_scalars(%x: tensor<4x5xf32>) {
  // expected-error@+1 {{expects argument 0 of its region}}
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<i8>):
    stablehlo.return %a : tensor<i8>
  }) : (tensor<4x5xf32>) -> tensor<4x5xi8>
  return
}

// -----

func.func @sort_dimension_is_in_range(%x: tensor<4x5xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{must be in range}}
  %0 = "stablehlo.sort"(%x) <{dimension = -3 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @sort_comparator_takes_pairs(%x: tensor<4x5xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{expects its region to have 2 arguments}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @sort_comparator_returns_boolean(%x: tensor<4x5xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{comparator must return one}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @select_returns_boolean(%x: tensor<6xf32>, %s: tensor<3xf32>, %i: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{select-region to return one}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @scatter_source_has_one_element_per_window(%x: tensor<6xf32>, %s: tensor<3xf32>, %i: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{one element per window}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @scatter_window_has_a_size_per_dimension(%x: tensor<6xf32>, %s: tensor<3xf32>, %i: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{window-dimensions size == operand rank}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @select_and_scatter_needs_window_sizes(%x: tensor<6xf32>, %i: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{window-dimensions size == operand rank}}
  %0 = "stablehlo.select_and_scatter"(%x, %x, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<6xf32>, tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @windows_are_too_many(%x: tensor<9223372036854775807xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{has more than 2^63 - 1 windows along dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{base_dilations = array<i64: 9223372036854775807>, window_dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<9223372036854775807xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @scatter_windows_are_too_many(%x: tensor<9223372036854775807xf32>, %s: tensor<3xf32>, %i: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{has more than 2^63 - 1 windows along dimension 0}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{padding = dense<9223372036854775807> : tensor<1x2xi64>, window_dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<9223372036854775807xf32>, tensor<3xf32>, tensor<f32>) -> tensor<9223372036854775807xf32>
  return
}
