// RUN: mpmd-opt %s -mpmd-infer-mesh-pipeline -verify-diagnostics -split-input-file

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @reports_sum_of_values_on_two_meshes(%p: !m1, %q: !m2) -> !t attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%p) (%x: !t) {
    mpmd.return %x : !t
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m2", origin=["g"]> (%q) (%x: !t) {
    mpmd.return %x : !t
  } : (!m2) -> !m2
  %u = mpmd.unassign %f : (!m1) -> !t
  %v = mpmd.unassign %g : (!m2) -> !t
  // expected-error@+1 {{mpmd_infer_cross_mesh_reductions}}
  %0 = stablehlo.add %v, %u : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @reports_argument_from_two_meshes(%p: !m1, %q: !m2) -> (!m1, !m1) attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%p) (%x: !t) {
    mpmd.return %x : !t
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m2", origin=["g"]> (%q) (%x: !t) {
    mpmd.return %x : !t
  } : (!m2) -> !m2
  %u = mpmd.unassign %f : (!m1) -> !t
  %v = mpmd.unassign %g : (!m2) -> !t
  %0 = mpmd.call @sine(%u) : (!t) -> !t
  %1 = mpmd.call @sine(%v) : (!t) -> !t
  %2 = mpmd.assign %0 : (!t) -> !m1
  %3 = mpmd.assign %1 : (!t) -> !m1
  return %2, %3 : !m1, !m1
}

// expected-error@+1 {{Mesh assignment is not possible for arg0 of mpmd.call "sine" as its caller operands are on conflicting meshes}}
func.func private @sine(%p: !t) -> !t attributes {topology = #topology} {
  %0 = stablehlo.sine %p : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @reports_value_needed_on_another_mesh(%p: !m1) -> !m2 attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%p) (%x: !t) {
    mpmd.return %x : !t
  } : (!m1) -> !m1
  %u = mpmd.unassign %f : (!m1) -> !t
  // expected-error@+1 {{is used in {m2} but it can only be placed on {m1}}}
  %0 = stablehlo.sine %u : !t
  // expected-error@+1 {{is used in {m2} but it can only be placed on {m1}}}
  %1 = mpmd.assign %0 : (!t) -> !m2
  return %1 : !m2
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_dead_call_that_does_not_fit(%a: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  %0 = mpmd.call @constant() : () -> tensor<4xf32>
  // expected-error@+1 {{has 1 operands and 1 results, but @constant has 0 arguments and 1 results; nothing reads the call, remove it}}
  %1 = mpmd.call @constant(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func private @constant() -> tensor<4xf32> attributes {topology = #topology} {
  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// expected-error@+1 {{function input 0 has type 'tensor<4xf32>' after mesh inference}}
func.func @reports_ops_of_computation_that_has_no_mesh(%p: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  // expected-error@+1 {{mpmd.assign is not allowed after mesh inference}}
  %0 = mpmd.named_computation<"f"> (%p) (%x: tensor<4xf32>) {
    // expected-error@+1 {{has no mesh}}
    %1 = stablehlo.custom_call @effect(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %x : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_fragment_in_branch(%x: !t, %y: !m1, %i: tensor<i32>) -> !t attributes {topology = #topology} {
  // expected-error@+1 {{becomes part of a fragment, and something in it reads a value of type '!mpmd.mesh_tensor<"m1", tensor<4xf32>>'; expected tensors; move what is on a mesh out of it}}
  %0 = "stablehlo.case"(%i) ({
    %1 = mpmd.for (%x) {iterations = 2 : ui32} (%a: !t, %index: tensor<ui32>) {
      %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%y) (%b: !t) {
        mpmd.return %b : !t
      } : (!m1) -> !m1
      %3 = mpmd.unassign %2 : (!m1) -> !t
      %4 = stablehlo.add %a, %3 : !t
      mpmd.return %4 : !t
    } : !t
    stablehlo.return %1 : !t
  }) : (tensor<i32>) -> !t
  return %0 : !t
}
