// RUN: mpmd-opt %s -mpmd-absorb-inferred-fragments=absorb-on-entry-point-function=true | FileCheck %s

!t = tensor<f32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<f32>>
#topology = #mpmd.topology<<"m1": <["x"=1]>>>

// The operands come in another order than the effects.
// CHECK-LABEL: func @absorbs_effects_in_their_order
func.func @absorbs_effects_in_their_order(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   @first
  // CHECK-NEXT:   @second
  // CHECK-NEXT:   @third
  // CHECK-NOT:  mpmd.fragment
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @second(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%0, %1) (%a: !t, %b: !t) {
    %c = stablehlo.custom_call @third(%b) {has_side_effect = true} : (!t) -> !t
    %d = stablehlo.add %a, %c : !t
    mpmd.return %d : !t
  } : (!m1, !m1) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @absorbs_nothing_past_an_effect
func.func @absorbs_nothing_past_an_effect(%x: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:   @first
  // CHECK: mpmd.fragment<mesh="m1", origin=["g"]>
  // CHECK:   @second
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK: mpmd.fragment<mesh="m1", origin=["h"]>
  // CHECK:   @third
  // CHECK: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:   @fourth
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @second(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["h"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @third(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=[]> (%2) (%a: !t) {
    %c = stablehlo.custom_call @fourth(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  return %1, %3, %4 : !m1, !m1, !m1
}

// CHECK-LABEL: func @leaves_other_blocks_alone
// CHECK:         @first
// CHECK:         @second
// CHECK:         @third
func.func @leaves_other_blocks_alone(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  cf.br ^bb1
^bb1:
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<f32>) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (tensor<f32>) -> tensor<f32>
    mpmd.return %c : tensor<f32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<f32>) {
    %c = stablehlo.custom_call @second(%a) {has_side_effect = true} : (tensor<f32>) -> tensor<f32>
    mpmd.return %c : tensor<f32>
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: tensor<f32>) {
    %c = stablehlo.custom_call @third(%a) {has_side_effect = true} : (tensor<f32>) -> tensor<f32>
    mpmd.return %c : tensor<f32>
  } : (!m1) -> !m1
  return %1, %2 : !m1, !m1
}
