// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments -verify-diagnostics -split-input-file
// RUN: not mpmd-opt %s -mpmd-merge-inferred-fragments="merge-any-consumer=true merge-sideways=true" -split-input-file 2>&1 | FileCheck %s

// CHECK: merge-any-consumer and merge-sideways exclude each other; run the pass twice, once with each

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_stages_that_differ(%x: !m1) -> !m1 attributes {topology = #topology} {
  // expected-note @+1 {{the other fragment is here}}
  %0 = mpmd.fragment<mesh="m1", origin=[], stage=1> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  // expected-error @+1 {{fragment of stage 2 cannot be merged with one of stage 1}}
  %1 = mpmd.fragment<mesh="m1", origin=["f"], stage=2> (%0) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  return %1 : !m1
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
