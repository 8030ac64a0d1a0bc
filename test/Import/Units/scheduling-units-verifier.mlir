// RUN: mpmd-opt %s -mpmd-scheduling-units-verifier -verify-diagnostics | FileCheck %s

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m1/cpu": <["x"=2]>>>

// CHECK-LABEL: func @accepts_one_unit_per_microbatch_and_direction
// CHECK-COUNT-4: mpmd.fragment
func.func @accepts_one_unit_per_microbatch_and_direction(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f", "g"]> (%0) {call_counter = 1 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%1) {call_counter = 0 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%2) {call_counter = 1 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  return %3 : !m1
}

// CHECK-LABEL: func @accepts_counters_that_start_at_one
func.func @accepts_counters_that_start_at_one(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 1 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%0) {call_counter = 1 : ui32} (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @says_nothing_without_call_counters
func.func @says_nothing_without_call_counters(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  return %0 : !m1
}

// CHECK-LABEL: func @says_nothing_without_topology
func.func @says_nothing_without_topology(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<4xf32>
}
