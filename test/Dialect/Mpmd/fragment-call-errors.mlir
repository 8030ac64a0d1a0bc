// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

func.func @header_has_no_stage() {
  // expected-error@+1 {{expected '>'}}
  mpmd.fragment_call<mesh="m1", origin=[], stage=1> @callee() : () -> ()
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @parent_is_a_function(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: !m1, %i: tensor<ui32>) {
    // expected-error@+1 {{'mpmd.fragment_call' op expects parent op 'func.func'}}
    %1 = mpmd.fragment_call<mesh="m1", origin=[]> @callee(%a) : (!m1) -> !m1
    mpmd.return %1 : !m1
  } : !m1
  return
}
func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>}

// -----

func.func @c1_callee_is_missing() {
  // expected-error-re@+1 {{{{^}}no function called @callee}}
  mpmd.fragment_call<mesh="m1", origin=[]> @callee() : () -> ()
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @c2_number_of_operands(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}number of callee inputs and operands must match: 0 vs 1}}
  mpmd.fragment_call<mesh="m1", origin=[]> @callee(%x) : (!m1) -> ()
  return
}
func.func private @callee() attributes {mesh_shape = #sdy.mesh<["x"=2]>}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @c2_number_of_results() attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}number of callee results and results must match: 0 vs 1}}
  %0 = mpmd.fragment_call<mesh="m1", origin=[]> @callee() : () -> !m1
  return
}
func.func private @callee() attributes {mesh_shape = #sdy.mesh<["x"=2]>}

// -----

!split = !mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}]>>
func.func @c2_callee_takes_local_types(%x: !split) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}operand #0 must have type 'tensor<4xf32>' inside, the global tensor type}}
  mpmd.fragment_call<mesh="m1", origin=[]> @callee(%x) : (!split) -> ()
  return
}
func.func private @callee(tensor<2xf32>) attributes {mesh_shape = #sdy.mesh<["x"=2]>}

// -----

!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @c2_operand_on_another_mesh(%x: !m2) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}operand #0 is on mesh "m2", but the fragment's mesh name is "m1"}}
  mpmd.fragment_call<mesh="m1", origin=[]> @callee(%x) : (!m2) -> ()
  return
}
func.func private @callee(tensor<4xf32>) attributes {mesh_shape = #sdy.mesh<["x"=2]>}

// -----

func.func @c3_callee_has_no_mesh_shape() attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  mpmd.fragment_call<mesh="m1", origin=[]> @callee() : () -> ()
  return
}
// expected-error@+1 {{function @callee has no mesh_shape attribute}}
func.func private @callee()

// -----

func.func @c4_callee_is_for_another_mesh() attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}mesh "m1" of the call is #sdy.mesh<["x"=2]>, but the mesh of callee @callee is #sdy.mesh<["x"=2], device_ids=[1, 0]>}}
  mpmd.fragment_call<mesh="m1", origin=[]> @callee() : () -> ()
  return
}
func.func private @callee() attributes {mesh_shape = #sdy.mesh<["x"=2], device_ids=[1, 0]>}

// -----

func.func @c5_res_attrs_has_a_unit() attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{`res_attrs` must be a list of dictionaries, as in `res_attrs = [{}]`, but is [unit]}}
  mpmd.fragment_call<mesh="m1", origin=[]> @callee() {res_attrs = [unit]} : () -> ()
  return
}
func.func private @callee() attributes {mesh_shape = #sdy.mesh<["x"=2]>}
