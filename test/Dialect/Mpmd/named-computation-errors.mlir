// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

func.func @name_is_a_string() {
  // expected-error@+1 {{expected string}}
  mpmd.named_computation<f> () () { mpmd.return } : () -> ()
  return
}

// -----

func.func @terminator_is_required() {
  // expected-error@+1 {{region with 1 blocks}}
  mpmd.named_computation<"f"> () () { } : () -> ()
  return
}

// -----

func.func @operands_are_stablehlo_tensors(%x: tensor<4xindex>) {
  // expected-error@+1 {{operand #0 must be variadic of}}
  mpmd.named_computation<"f"> (%x) (%a: tensor<4xindex>) { mpmd.return } : (tensor<4xindex>) -> ()
  return
}

// -----

func.func @c1_number_of_arguments(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}number of block arguments and operands must match: 2 vs 1}}
  mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>, %b: tensor<4xf32>) { mpmd.return } : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @c2_type_of_argument(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}type of block argument #0 must match the type of the operand: 'tensor<2xf32>' vs 'tensor<4xf32>'}}
  mpmd.named_computation<"f"> (%x) (%a: tensor<2xf32>) { mpmd.return } : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @c3_number_of_results(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}number of returned values and results must match: 1 vs 0}}
  mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) { mpmd.return %a : tensor<4xf32> } : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @c4_type_of_result(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}type of returned value #0 must match the type of the result: 'tensor<4xf32>' vs 'tensor<2xf32>'}}
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) { mpmd.return %a : tensor<4xf32> } : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// Operands come before results, counts before types.
func.func @reports_number_of_arguments_first(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}number of block arguments and operands must match: 0 vs 1}}
  %0 = mpmd.named_computation<"f"> (%x) () { mpmd.return } : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @ends_in_mpmd_return(%x: tensor<4xf32>) {
  // expected-error@+2 {{'mpmd.named_computation' op expects regions to end with 'mpmd.return', found 'stablehlo.return'}}
  // expected-note@+1 {{the absence of terminator implies 'mpmd.return'}}
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) { stablehlo.return %a : tensor<4xf32> } : (tensor<4xf32>) -> tensor<4xf32>
  return
}
