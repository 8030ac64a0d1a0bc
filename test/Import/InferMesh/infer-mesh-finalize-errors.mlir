// RUN: mpmd-opt %s -mpmd-infer-mesh-finalize -verify-diagnostics -split-input-file

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!host = !mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="pinned_host">
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// expected-error@+1 {{Argument 0 is used with different memory kinds: undefined memory kind and "pinned_host"}}
func.func @reports_argument_in_two_memories(%p: !t) -> (!host, !m1) attributes {topology = #topology} {
  %0 = mpmd.assign %p : (!t) -> !host
  %1 = mpmd.assign %p : (!t) -> !m1
  return %0, %1 : !host, !m1
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// expected-error@+2 {{function input 0 has type 'tensor<4xf32>' after mesh inference; expected a MeshTensorType}}
// expected-error@+1 {{function output 0 has type 'tensor<4xf32>' after mesh inference; expected a MeshTensorType}}
func.func @reports_what_has_no_mesh(%p: !t) -> !t attributes {topology = #topology} {
  // expected-error@+1 {{no more meshless ops}}
  %0 = stablehlo.sine %p : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @reports_transfer_that_nobody_made(%p: !m1) -> !m2 attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="m1", origin=[]> (%p) (%x: !t) {
    %2 = stablehlo.sine %x : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  // expected-error@+1 {{not allowed after mesh inference}}
  %0 = mpmd.unassign %f : (!m1) -> !t
  // expected-error@+1 {{not allowed after mesh inference}}
  %1 = mpmd.assign %0 : (!t) -> !m2
  return %1 : !m2
}
