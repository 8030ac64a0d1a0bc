// RUN: mpmd-opt %s -mpmd-verify-stage-merging | FileCheck %s

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// Each differs from the others in one property.
// CHECK-LABEL: func @accepts_fragments_that_differ
func.func @accepts_fragments_that_differ(%x: !m1, %y: !m2) attributes {topology = #topology} {
  // CHECK-COUNT-8: mpmd.fragment
  %0 = mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%x) {call_counter = 5 : ui32} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m2", origin=["f"], stage=0> (%y) {call_counter = 5 : ui32} (%u: !l) { mpmd.return %u : !l } : (!m2) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 5 : ui32} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=0> (%x) {call_counter = 5 : ui32} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%x) {call_counter = 6 : ui32} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %5 = mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%x) {call_counter = 5 : ui32, split_keep_transferred} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %6 = mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%x) {call_counter = 5 : ui32, split_drop_transferred} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %7 = mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%x) {call_counter = 5 : ui32, remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  return
}

// CHECK-LABEL: func @ignores_fragments_without_stage
func.func @ignores_fragments_without_stage(%x: !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f", "g"(1)]> (%x) (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f", "g"(1)]> (%x) (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  return
}

// The largest count is 1, so it does not clash with the forward fragment.
// CHECK-LABEL: func @rematerialized_fragment_has_its_largest_transpose_count
func.func @rematerialized_fragment_has_its_largest_transpose_count(%x: !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%x) {remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f", "f"(1)], stage=0> (%x) {remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  return
}

// CHECK-LABEL: func @leaves_other_functions_alone
func.func @leaves_other_functions_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
