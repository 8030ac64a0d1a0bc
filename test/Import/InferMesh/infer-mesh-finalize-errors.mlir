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

func.func @reports_missing_transfer(%p: !m1) -> !m2 attributes {topology = #topology} {
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

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>

func.func @reduces_by_what_there_is_not(%x: !m1) -> !m1 attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  %0 = mpmd.unassign %x : (!m1) -> !t
  // expected-error@+1 {{cannot be computed: StableHLO has no op of kind or for 'tensor<4xf32>'}}
  %1 = mpmd.reduce<or> {mpmd.use_set = #mpmd.meshes_with_origins<"m1">} %0, %0 : (!t, !t) -> !t
  %2 = mpmd.assign %1 : (!t) -> !m1
  return %2 : !m1
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
!host = !mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="pinned_host">
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @reports_transfers_in_loops(%p: !m1, %q: !host) attributes {topology = #topology} {
  // expected-error@+1 {{loops have no transfers, so unroll the loop}}
  %0 = mpmd.unassign %p : (!m1) -> !t
  // expected-error@+1 {{loops have no transfers, so unroll the loop}}
  %1 = mpmd.unassign %q : (!host) -> !t
  mpmd.for () {iterations = 2 : ui32} (%i: tensor<ui32>) {
    // expected-error@+1 {{loops have no transfers, so unroll the loop}}
    %b = mpmd.broadcast %0 : !t
    // expected-error@+1 {{loops have no transfers, so unroll the loop}}
    %2 = mpmd.assign %b : (!t) -> !m2
    %r = mpmd.reduce<add> {mpmd.use_set = #mpmd.meshes_with_origins<"m2">} %0, %0 : (!t, !t) -> !t
    // expected-error@+1 {{loops have no transfers, so unroll the loop}}
    %3 = mpmd.assign %r : (!t) -> !m2
    // expected-error@+1 {{loops have no transfers, so unroll the loop}}
    %4 = mpmd.assign %1 : (!t) -> !m1
    mpmd.fragment<mesh="m2", origin=["f"]> (%2, %3) (%x: !t, %y: !t) {
      stablehlo.custom_call @print(%x, %y) {has_side_effect = true} : (!t, !t) -> ()
      mpmd.return
    } : (!m2, !m2) -> ()
    mpmd.fragment<mesh="m1", origin=["f"]> (%4) (%x: !t) {
      stablehlo.custom_call @print(%x) {has_side_effect = true} : (!t) -> ()
      mpmd.return
    } : (!m1) -> ()
    mpmd.return
  }
  return
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @reports_transfer_from_host(%p: !t {mhlo.memory_kind = "pinned_host"}) -> (!m1, !m2) attributes {topology = #topology} {
  %0 = mpmd.assign %p : (!t) -> !m1
  // expected-error@+1 {{Transfers from host with attributes are not allowed; put the memory kind into the type}}
  %1 = mpmd.assign %p : (!t) -> !m2
  return %0, %1 : !m1, !m2
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>

func.func @main(%p: !t) -> !m1 attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  %0 = mpmd.assign %p : (!t) -> !m1
  return %0 : !m1
}
func.func @reports_plain_call(%p: !t) -> !m1 {
  // expected-error@+1 {{names the MPMD function @main, whose values get meshes}}
  %0 = func.call @main(%p) : (!t) -> !m1
  return %0 : !m1
}
