// What a scheduler has kept orders the members of a merge, and the result.
// RUN: mpmd-opt %s -split-input-file -mpmd-rule-based-merge='rules=FragmentMergeRule(sources=[FragmentInfo(origins=["a"],mesh_name="m"),FragmentInfo(origins=["b"],mesh_name="m")],target=FragmentInfo(origins=["all"],mesh_name="m"))' | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// The edge from b to c makes c wait for the merged fragment.
// CHECK-LABEL: func @waits_for_the_merged_fragment
// CHECK-NEXT:  %[[ALL:.*]]:2 = mpmd.fragment<mesh="m", origin=["all"]> (%arg0) (
// CHECK:       %[[C:.*]] = mpmd.fragment<mesh="m", origin=["c"]> (%arg0) {kept} (
// CHECK:       return %[[ALL]]#0, %[[ALL]]#1, %[[C]]
func.func @waits_for_the_merged_fragment(%x: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  %b = mpmd.fragment<mesh="m", origin=["b"]> (%x) {mpmd.control_number = 7 : i64} (%p: tensor<4xf32>) {
    %r = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m) -> !m
  %c = mpmd.fragment<mesh="m", origin=["c"]> (%x) {kept, mpmd.control_after = array<i64: 7>} (%p: tensor<4xf32>) {
    %r = stablehlo.sine %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m) -> !m
  %a = mpmd.fragment<mesh="m", origin=["a"]> (%x) (%p: tensor<4xf32>) {
    %r = stablehlo.negate %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m) -> !m
  return %b, %a, %c : !m, !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// Numbers that nothing before has are of fragments that are gone.
// CHECK-LABEL: func @does_not_wait_for_what_is_not_there
// CHECK:       mpmd.fragment<mesh="m", origin=["c"]> (%arg0) (
// CHECK:       mpmd.fragment<mesh="m", origin=["d"]> (%arg0) (
func.func @does_not_wait_for_what_is_not_there(%x: !m) -> (!m, !m) attributes {topology = #topology} {
  %c = mpmd.fragment<mesh="m", origin=["c"]> (%x) {mpmd.control_after = array<i64: 0, 1, 2>, mpmd.control_number = 0 : i64} (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m) -> !m
  %d = mpmd.fragment<mesh="m", origin=["d"]> (%x) {mpmd.control_number = 2 : i64} (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m) -> !m
  return %c, %d : !m, !m
}
