// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments | FileCheck %s --check-prefixes=CHECK,CLOSEST
// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments=merge-sideways=true | FileCheck %s --check-prefixes=CHECK,SIDEWAYS

!t = tensor<f32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<f32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<f32>>
#topology = #mpmd.topology<<"m1": <["x"=1]>>, <"m2": <["x"=1]>>>

// Its reader is after another effect of the mesh.
// CHECK-LABEL: func @effect_does_not_move_down_past_another
func.func @effect_does_not_move_down_past_another(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK: @first
  // CHECK: @second
  // CHECK: stablehlo.add
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @second(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["h"]> (%0, %1) (%a: !t, %b: !t) {
    %c = stablehlo.add %a, %b : !t
    mpmd.return %c : !t
  } : (!m1, !m1) -> !m1
  return %1, %2 : !m1, !m1
}

// Both are ready where %0 is, so that %2 moves up instead.
// CHECK-LABEL: func @reader_moves_up_to_an_effect
func.func @reader_moves_up_to_an_effect(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CLOSEST:      mpmd.fragment<mesh="m1", origin=["h"]>
  // CLOSEST-NEXT:   @first
  // CLOSEST-NEXT:   stablehlo.negate
  // CLOSEST:      mpmd.fragment<mesh="m1", origin=["g"]>
  // CLOSEST-NEXT:   @second
  // SIDEWAYS:      @first
  // SIDEWAYS:      @second
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @second(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["h"]> (%0) (%a: !t) {
    %c = stablehlo.negate %a : !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  return %1, %2 : !m1, !m1
}

// CHECK-LABEL: func @neighbouring_effects_merge
func.func @neighbouring_effects_merge(%x: !m1, %y: !m2) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m2", origin=["elsewhere"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["h"]>
  // CHECK-NEXT:   @first
  // CHECK-NEXT:   @second
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m2", origin=["elsewhere"]> (%y) (%a: !t) {
    %c = stablehlo.custom_call @other(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m2) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=["h"]> (%0) (%a: !t) {
    %c = stablehlo.custom_call @second(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  return %2, %1 : !m1, !m2
}

// CHECK-LABEL: func @effect_does_not_pass_a_call
func.func @effect_does_not_pass_a_call(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK: @first
  // CHECK: mpmd.call @acts
  // CHECK: @third
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %1 = mpmd.call @acts(%x) : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["h"]> (%1, %0) (%b: !t, %a: !t) {
    %c = stablehlo.custom_call @third(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1, !m1) -> !m1
  return %1, %2 : !m1, !m1
}
func.func private @acts(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["inner"]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @inner(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  return %0 : !m1
}

// CHECK-LABEL: func @effect_does_not_move_into_a_branch
// CHECK:         @act
// CHECK:         cf.cond_br
func.func @effect_does_not_move_into_a_branch(%p: i1, %x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %c = stablehlo.custom_call @act(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  cf.cond_br %p, ^bb1, ^bb2
^bb1:
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
^bb2:
  return %x : !m1
}
