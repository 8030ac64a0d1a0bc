// RUN: mpmd-opt %s -mpmd-rule-based-schedule -verify-diagnostics
// RUN: not mpmd-opt %s -mpmd-rule-based-schedule 2>&1 | FileCheck %s

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// Once for each surplus fragment, and without rules as well.
// CHECK-COUNT-2: error: two fragments fit the description
// CHECK-NOT:     error: two fragments
// expected-error@+1 {{two fragments fit the description FragmentInfo(origins=["f","g"(1)],stage=2,call_counter=3,split_type=kKeepTransferred,mesh_name="m0"); rules need distinct ones: do two named computations share a name?}}
func.func @reports_fragments_that_rules_cannot_tell_apart(%x: !m0) -> (!m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f", "g"(1)], stage=2> (%x) {call_counter = 3 : ui32, split_keep_transferred} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  // The order of origins makes no difference, nor do other attributes.
  %1 = mpmd.fragment<mesh="m0", origin=["g"(1), "f"], stage=2> (%x) {call_counter = 3 : ui32, split_keep_transferred, remat} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f", "g"(1)], stage=2> (%x) {call_counter = 3 : ui32, split_keep_transferred} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1, %2 : !m0, !m0, !m0
}

// Inferred fragments have no description; other stages, counters, halves and
// meshes are other descriptions.
func.func @tells_fragments_apart(%x: !m0) -> (!m0, !m0, !m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=[]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=[]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %4 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %5 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {split_drop_transferred} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1, %2, %3, %4, %5 : !m0, !m0, !m0, !m0, !m0, !m0
}
