// RUN: mpmd-opt %s -split-input-file -verify-diagnostics -mpmd-rule-based-merge='rules=FragmentMergeRule(sources=[FragmentInfo(origins=["f"],mesh_name="m1"),FragmentInfo(origins=["h"],mesh_name="m1")],target=FragmentInfo(origins=["f","h"],mesh_name="m1"))' | FileCheck %s

!t = tensor<f32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<f32>>
#topology = #mpmd.topology<<"m1": <["x"=1]>>>

// At first the merged fragment is before the effect that it follows.
// CHECK-LABEL: func @effects_keep_their_order
func.func @effects_keep_their_order(%x: !m1) -> (!m1, !m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"]>
  // CHECK-NEXT:   @first
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f", "h"]>
  // CHECK-NEXT:   @second
  // CHECK:      mpmd.fragment<mesh="m1", origin=["i"]>
  // CHECK-NEXT:   @third
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["h"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @second(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["i"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @third(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  return %0, %1, %2, %3 : !m1, !m1, !m1, !m1
}

// -----

!t = tensor<f32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<f32>>
#topology = #mpmd.topology<<"m1": <["x"=1]>>>

func.func @refuses_to_merge_across_an_effect(%x: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // expected-error@+1 {{a merge rule merges this fragment with a later one across the effects of another fragment of the mesh, which would no longer happen in their order; add that to the rule}}
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  // expected-note@+1 {{this has effects, too}}
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @second(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["h"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @third(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  return %0, %1, %2 : !m1, !m1, !m1
}
