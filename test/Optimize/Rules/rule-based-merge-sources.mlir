// RUN: mpmd-opt %s -split-input-file -mpmd-rule-based-merge='rules=FragmentMergeRule(sources=[FragmentInfo(origins=["b","a"],mesh_name="m1")],target=FragmentInfo(origins=["never"],mesh_name="m1")),FragmentMergeRule(sources=[FragmentInfo(origins=["u"],mesh_name="m1"),FragmentInfo(origins=["u"],mesh_name="m2")],target=FragmentInfo(origins=["all"],mesh_name="m1"))' | FileCheck %s

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// Those of the fragments are sorted before they are compared.
// CHECK-LABEL: func @origins_of_a_source_match_in_sorted_order_only
func.func @origins_of_a_source_match_in_sorted_order_only(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["b", "a"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["a", "b"]>
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=["b", "a"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["a", "b"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1 : !m1, !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// The source on the other mesh does not take part.
// CHECK-LABEL: func @merges_fragments_of_one_mesh
func.func @merges_fragments_of_one_mesh(%x: !m1, %y: !m2) -> (!m1, !m2, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["all"]>
  // CHECK:      mpmd.fragment<mesh="m2", origin=["u"]>
  // CHECK-NOT:  mpmd.fragment
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m2", origin=["u"]> (%y) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m2) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1, %2 : !m1, !m2, !m1
}
