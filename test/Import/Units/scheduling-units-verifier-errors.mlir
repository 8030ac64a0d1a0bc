// RUN: mpmd-opt %s -mpmd-scheduling-units-verifier -verify-diagnostics -split-input-file

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>, <"m2/cpu": <["x"=2]>>>
// An unused mesh is warned of twice, a mesh of CPUs never.
// expected-warning@+3 {{number of forward scheduling units on mesh "m1" differs from the number of microbatches: expected 1, found 0}}
// expected-warning@+2 {{number of forward scheduling units on mesh "m2" differs from the number of microbatches: expected 1, found 0}}
// expected-warning@+1 {{number of backward scheduling units on mesh "m2" differs from the number of microbatches: expected 1, found 0}}
func.func @warns_in_the_order_of_the_topology(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  return %0 : !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
// expected-warning@+2 {{forward scheduling units on mesh "m1" differs from the number of microbatches: expected 1, found 0}}
// expected-warning@+1 {{backward scheduling units on mesh "m1" differs from the number of microbatches: expected 1, found 0}}
func.func @counts_microbatches_by_inferred_fragments_too(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {call_counter = 0 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  return %0 : !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
// expected-warning@+2 {{forward scheduling units on mesh "m1" differs from the number of microbatches: expected 3, found 1}}
// expected-warning@+1 {{backward scheduling units on mesh "m1" differs from the number of microbatches: expected 3, found 0}}
func.func @counts_only_fragments_of_one_transpose_count(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f", "f"(1)]> (%x) {call_counter = 0 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"(2)]> (%0) {call_counter = 2 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%1) {call_counter = 2 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  return %2 : !m1
}

// -----

// The fragment in the loop has a counter, but a unit is in the function.
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
// expected-warning@+2 {{forward scheduling units on mesh "m1" differs from the number of microbatches: expected 2, found 1}}
// expected-warning@+1 {{backward scheduling units on mesh "m1" differs from the number of microbatches: expected 2, found 0}}
func.func private @counts_microbatches_but_no_units_in_loops(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%s: !m1, %index: !m1) {
    %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%s) {call_counter = 2 : ui32} (%u: tensor<4xf32>) {
      mpmd.return %u : tensor<4xf32>
    } : (!m1) -> !m1
    mpmd.return %1 : !m1
  } : !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) {call_counter = 1 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  // What is no integer is no counter.
  %3 = mpmd.fragment<mesh="m1", origin=["f"]> (%2) {call_counter = "7"} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  return %3 : !m1
}
