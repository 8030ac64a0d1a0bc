// Attributes of an order that no pass has kept.
// RUN: mpmd-opt %s -mpmd-rule-based-merge -split-input-file -verify-diagnostics
// RUN: mpmd-opt %s -mpmd-rule-based-schedule -split-input-file -verify-diagnostics
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler -split-input-file -verify-diagnostics

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @number_of_another_type(%x: !m) -> !m attributes {topology = #topology} {
  // expected-error @+1 {{has a mpmd.control_number that is no i64: 0 : i32}}
  %c = mpmd.fragment<mesh="m", origin=["c"]> (%x) {mpmd.control_number = 0 : i32} (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m) -> !m
  return %c : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @list_of_another_type(%x: !m) -> !m attributes {topology = #topology} {
  // expected-error @+1 {{has a mpmd.control_after that is no array<i64: ...>: [0]}}
  %c = mpmd.fragment<mesh="m", origin=["c"]> (%x) {mpmd.control_after = [0]} (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m) -> !m
  return %c : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @number_of_two_fragments(%x: !m) -> (!m, !m) attributes {topology = #topology} {
  %c = mpmd.fragment<mesh="m", origin=["c"]> (%x) {mpmd.control_number = 3 : i64} (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m) -> !m
  // expected-error @+1 {{has the mpmd.control_number 3 of an earlier fragment; give it another one}}
  %d = mpmd.fragment<mesh="m", origin=["d"]> (%x) {mpmd.control_number = 3 : i64} (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m) -> !m
  return %c, %d : !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @number_of_a_fragment_without_results(%x: !m) attributes {topology = #topology} {
  // expected-error @+1 {{has a mpmd.control_number, but no result by which another fragment could wait for it; remove that}}
  mpmd.fragment<mesh="m", origin=["c"]> (%x) {mpmd.control_number = 0 : i64} (%p: tensor<4xf32>) {
    mpmd.return
  } : (!m) -> ()
  return
}
