// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=ParallelPipelinesWithWrapAround -verify-diagnostics -split-input-file

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

func.func @reports_backward_work_on_a_ring(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  // expected-error@+1 {{schedule ParallelPipelinesWithWrapAround orders forward computations only}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-note@+1 {{cannot be ordered with this fragment}}
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// What data flow orders is not compared, so the two may have one counter.
func.func @accepts_what_data_flow_orders(%x: !m0) -> !m0 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["g"]> (%0) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %1 : !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

func.func @reports_equal_counters_on_a_ring(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  // expected-error@+1 {{needs one computation of each call counter on each mesh}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-note@+1 {{cannot be ordered with this fragment}}
  %1 = mpmd.fragment<mesh="m0", origin=["g"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}

// -----

!l = tensor<4xf32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>>

func.func @reports_meshes_without_number_on_a_ring(%x: !a) -> (!a, !a) attributes {topology = #topology} {
  // expected-error@+1 {{needs mesh names that end in a number, as in m0, m1}}
  %0 = mpmd.fragment<mesh="a", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!a) -> !a
  // expected-note@+1 {{cannot be ordered with this fragment}}
  %1 = mpmd.fragment<mesh="a", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!a) -> !a
  return %0, %1 : !a, !a
}

// -----

!l = tensor<4xf32>
!a = !mpmd.mesh_tensor<"a3b", tensor<4xf32>>
#topology = #mpmd.topology<<"a3b": <["x"=2]>>>

// Only digits at the end are a number.
func.func @reports_meshes_with_a_number_inside(%x: !a) -> (!a, !a) attributes {topology = #topology} {
  // expected-error@+1 {{needs mesh names that end in a number, as in m0, m1}}
  %0 = mpmd.fragment<mesh="a3b", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!a) -> !a
  // expected-note@+1 {{cannot be ordered with this fragment}}
  %1 = mpmd.fragment<mesh="a3b", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!a) -> !a
  return %0, %1 : !a, !a
}
