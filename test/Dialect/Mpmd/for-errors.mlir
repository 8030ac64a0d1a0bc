// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

func.func @types_are_required() {
  // expected-error@+1 {{expected non-function type}}
  mpmd.for () {iterations = 5 : ui32} (%i: tensor<ui32>) { mpmd.return } :
  return
}

// -----

func.func @iterations_are_required(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires attribute 'iterations'}}
  %0 = mpmd.for (%x) (%a: tensor<4xf32>, %i: tensor<ui32>) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @iterations_are_a_number(%x: tensor<4xf32>) {
  // expected-error@+1 {{'mpmd.for' op attribute 'iterations' failed to satisfy constraint: 32-bit unsigned integer attribute}}
  %0 = mpmd.for (%x) {iterations = "5"} (%a: tensor<4xf32>, %i: tensor<ui32>) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @unroll_factor_is_a_number(%x: tensor<4xf32>) {
  // expected-error@+1 {{'mpmd.for' op attribute 'unroll_factor' failed to satisfy constraint: 32-bit unsigned integer attribute}}
  %0 = mpmd.for (%x) {iterations = 5 : ui32, unroll_factor} (%a: tensor<4xf32>, %i: tensor<ui32>) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @c1_number_of_results(%x: tensor<4xf32>) {
  // expected-error@+1 {{'mpmd.for' op requires the same number of operands and results, but has 1 and 0}}
  "mpmd.for"(%x) <{iterations = 2 : ui32}> ({
  ^bb0(%a: tensor<4xf32>, %i: tensor<ui32>):
    "mpmd.return"(%a) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @c1_type_of_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{'mpmd.for' op requires the same type for operand and result at index 0}}
  %0 = "mpmd.for"(%x) <{iterations = 2 : ui32}> ({
  ^bb0(%a: tensor<4xf32>, %i: tensor<ui32>):
    "mpmd.return"(%a) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @c2_index_is_missing(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}wrong number of arguments for region: expected 2, one per operand and the index, but found 1}}
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @c2_type_of_argument(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}wrong argument type at argument no. 1: expected 'tensor<4xf32>' but found 'tensor<2xf32>'}}
  %0:2 = mpmd.for (%x, %y) {iterations = 2 : ui32} (%a: tensor<4xf32>, %b: tensor<2xf32>, %i: tensor<ui32>) { mpmd.return %a, %a : tensor<4xf32>, tensor<4xf32> } : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @c3_index_is_no_scalar(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}index must have a 32-bit integer rank-0 tensor type, but has 'tensor<1xui32>'}}
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<1xui32>) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @c3_index_is_too_wide(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}index must have a 32-bit integer rank-0 tensor type, but has 'tensor<i64>'}}
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<i64>) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @c4_number_of_returned_values(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}type mismatch for result of region}}
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) { mpmd.return } : tensor<4xf32>
  return
}

// -----

func.func @c4_type_of_returned_value(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}type mismatch for result of region: expected ('tensor<4xf32>') but found ('tensor<ui32>')}}
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) { mpmd.return %i : tensor<ui32> } : tensor<4xf32>
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @c5_kinds_of_operands_differ(%x: tensor<4xf32>, %y: !m1) {
  // expected-error-re@+1 {{{{^}}type ids in operands/results are not identical}}
  %0:2 = mpmd.for (%x, %y) {iterations = 2 : ui32} (%a: tensor<4xf32>, %b: !m1, %i: tensor<ui32>) { mpmd.return %a, %b : tensor<4xf32>, !m1 } : tensor<4xf32>, !m1
  return
}

// -----

func.func @c6_no_iteration(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}number of iterations must be greater than zero}}
  %0 = mpmd.for (%x) {iterations = 0 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @c6_factor_is_zero(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}number of iterations 6 isn't divisible by unroll factor 0}}
  %0 = mpmd.for (%x) {iterations = 6 : ui32, unroll_factor = 0 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @c6_factor_does_not_divide(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}number of iterations 6 isn't divisible by unroll factor 4}}
  %0 = mpmd.for (%x) {iterations = 6 : ui32, unroll_factor = 4 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @ends_in_mpmd_return(%x: tensor<4xf32>) {
  // expected-error@+2 {{'mpmd.for' op expects regions to end with 'mpmd.return', found 'stablehlo.return'}}
  // expected-note@+1 {{the absence of terminator implies 'mpmd.return'}}
  %0 = mpmd.for (%x) {iterations = 6 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) { stablehlo.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @c7_arg_attrs_is_a_number(%x: tensor<4xf32>) {
  // expected-error@+1 {{`arg_attrs` must be a list of dictionaries, as in `arg_attrs = [{}]`, but is 1 : i64}}
  %0 = mpmd.for (%x) {arg_attrs = 1, iterations = 6 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}

// -----

func.func @c3_index_cannot_count(%x: tensor<4xf32>) {
  // expected-error@+1 {{index must have a 32-bit integer rank-0 tensor type, but has 'f32'}}
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: f32) { mpmd.return %a : tensor<4xf32> } : tensor<4xf32>
  return
}
