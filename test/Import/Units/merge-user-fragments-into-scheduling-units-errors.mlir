// RUN: mpmd-opt %s -mpmd-merge-user-fragments-into-scheduling-units -verify-diagnostics -split-input-file

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @reports_mixed_transpose_counts(%x: !m1) -> !m1 attributes {topology = #topology} {
  // expected-error@+1 {{user fragment mixes computations of several transpose counts}}
  %f = mpmd.fragment<mesh="m1", origin=["f", "f"(1)]> (%x) (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"(1)]> (%f) (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  %h = mpmd.fragment<mesh="m1", origin=["h"(1)]> (%f, %g) (%u: tensor<4xf32>, %v: tensor<4xf32>) {
    mpmd.return %v : tensor<4xf32>
  } : (!m1, !m1) -> !m1
  return %h : !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_call_counter_of_another_type(%x: !m1) -> !m1 attributes {topology = #topology} {
  // expected-error @+1 {{`call_counter` has type 'i32', but a call counter must be a ui32}}
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 1 : i32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  // expected-error @+1 {{`call_counter` has type 'index'}}
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) {call_counter = 1 : index} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  // What is no integer is no counter.
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%1) {call_counter = "1"} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  return %2 : !m1
}
