// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

func.func @c1_counter_is_i32() {
  // expected-error-re@+1 {{{{^}}`call_counter` must be of type uint32, written `ui32`, but is of type 'i32'}}
  mpmd.call @callee() {call_counter = 1 : i32} : () -> ()
  return
}
func.func private @callee() {
  return
}

// -----

func.func @c2_call_in_named_computation() {
  mpmd.named_computation<"f"> () () {
    // expected-error-re@+1 {{{{^}}call of @callee must be directly in a `func.func` or `mpmd.for`, but its parent is `mpmd.named_computation`}}
    mpmd.call @callee() : () -> ()
    mpmd.return
  } : () -> ()
  return
}
func.func private @callee() {
  return
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func private @c3_private_caller_with_topology() attributes {topology = #topology} {
  // expected-error-re@+1 {{{{^}}call of @callee is in MPMD function @c3_private_caller_with_topology, which is no entry point}}
  mpmd.call @callee() : () -> ()
  return
}
func.func private @callee() {
  return
}

// -----

func.func @c4_operand_type_differs(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}Type mismatch: operand #0 of callee @callee has type 'tensor<2xf32>' but the call has 'tensor<4xf32>'}}
  mpmd.call @callee(%x) : (tensor<4xf32>) -> ()
  return
}
func.func private @callee(%x: tensor<2xf32>) {
  return
}

// -----

func.func @c4_result_type_differs() {
  // expected-error-re@+1 {{{{^}}Type mismatch: result #0 of callee @callee has type 'tensor<2xf32>' but the call has 'tensor<4xf32>'}}
  %0 = mpmd.call @callee() : () -> tensor<4xf32>
  return
}
func.func private @callee() -> tensor<2xf32>

// -----

// Only types are compared, and only as far as there are some on both sides.
func.func @number_of_operands_is_not_compared(%x: tensor<4xf32>) {
  mpmd.call @callee(%x) : (tensor<4xf32>) -> ()
  return
}
func.func private @callee() {
  return
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @c5_callee_with_topology_is_public() attributes {topology = #topology} {
  // expected-error-re@+1 {{{{^}}callee @callee has a topology and must be private, but is public; write `func.func private`}}
  mpmd.call @callee() : () -> ()
  return
}
func.func @callee() attributes {topology = #topology} {
  return
}

// -----

func.func @callee_is_missing() {
  // expected-error@+1 {{no function called @callee; a call needs a func.func of that name in its module}}
  mpmd.call @callee() : () -> ()
  return
}

// -----

func.func @tokens_are_rejected(%x: !stablehlo.token) {
  // expected-error@+1 {{operand #0 must be variadic of tensor of any type values or}}
  mpmd.call @callee(%x) : (!stablehlo.token) -> ()
  return
}
func.func private @callee(%x: !stablehlo.token) {
  return
}

// -----

// Errors of the op come before errors about the callee.
func.func @reports_counter_before_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{`call_counter`}}
  mpmd.call @callee(%x) {call_counter = 1 : i64} : (tensor<4xf32>) -> ()
  return
}
func.func private @callee(%x: tensor<2xf32>) {
  return
}

// -----

func.func @c6_arg_attrs_has_text() {
  // expected-error@+1 {{`arg_attrs` must be a list of dictionaries, as in `arg_attrs = [{}]`, but is ["a"]}}
  mpmd.call @callee() {arg_attrs = ["a"]} : () -> ()
  return
}
func.func private @callee() {
  return
}
