// RUN: mpmd-opt %s -mpmd-unroll-for-loops -verify-diagnostics -split-input-file

func.func @reports_loop_inside_a_loop(%x: tensor<f32>) -> tensor<f32> attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    // expected-error@+1 {{Nested for loops aren't supported}}
    %1 = mpmd.for (%s) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%t: tensor<f32>, %inner: tensor<ui32>) {
      mpmd.return %t : tensor<f32>
    } : tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @reports_missing_unroll_factor(%x: tensor<f32>) -> tensor<f32> attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // expected-error@+1 {{loop of 4 iterations has no unroll_factor; only full unrolling is supported, set it to 4}}
  %0 = mpmd.for (%x) {iterations = 4 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    mpmd.return %s : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @reports_partial_unrolling(%x: tensor<f32>) -> tensor<f32> attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // expected-error@+1 {{loop of 4 iterations has unroll_factor 2; only full unrolling is supported, set it to 4}}
  %0 = mpmd.for (%x) {iterations = 4 : ui32, unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    mpmd.return %s : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @reports_too_many_iterations(%x: tensor<f32>) -> tensor<f32> attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // expected-error@+1 {{unrolling 2147483648 iterations would make 4294967296 operations; expected at most 524288, let the loop do fewer iterations}}
  %0 = mpmd.for (%x) {iterations = 2147483648 : ui32, unroll_factor = 2147483648 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    mpmd.return %s : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @reports_two_loops_inside_a_loop(%x: tensor<f32>) -> tensor<f32> attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    // expected-error@+1 {{Nested for loops aren't supported}}
    %1 = mpmd.for (%s) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%t: tensor<f32>, %inner: tensor<ui32>) {
      mpmd.return %t : tensor<f32>
    } : tensor<f32>
    // expected-error@+1 {{Nested for loops aren't supported}}
    %2 = mpmd.for (%1) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%t: tensor<f32>, %inner: tensor<ui32>) {
      mpmd.return %t : tensor<f32>
    } : tensor<f32>
    mpmd.return %2 : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @reports_first_counter_of_another_type(%x: tensor<f32>) -> tensor<f32> attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // expected-error@+1 {{mpmd.first_counter is "one"; expected a number of type ui32}}
  %0 = mpmd.for (%x) {iterations = 2 : ui32, mpmd.first_counter = "one", unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    mpmd.return %s : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

func.func @what_may_not_be_around_the_loop(%x: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    %1 = mpmd.for (%a) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%b: tensor<4xf32>, %i: tensor<ui32>) {
      // expected-error@+1 {{would be right in a `mpmd.fragment` if the loop were unrolled, but may be in functions and loops only; expected the loop right in a function}}
      %2 = mpmd.assign %b : (tensor<4xf32>) -> !m
      %3 = mpmd.unassign %2 : (!m) -> tensor<4xf32>
      mpmd.return %3 : tensor<4xf32>
    } : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
