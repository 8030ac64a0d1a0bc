// RUN: mpmd-opt %s -mpmd-split-and-prioritize-transfer-independent-computations | FileCheck %s

!t = tensor<f32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<f32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<f32>>
#topology = #mpmd.topology<<"m1": <["x"=1]>>, <"m2": <["x"=1]>>>

// @third depends on no transfer, but @second, which comes before it, does.
// CHECK-LABEL: func @effects_keep_their_order
func.func @effects_keep_their_order(%x: !m1, %y: !m2) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK:      split_keep_transferred
  // CHECK-NEXT:   @first
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   mpmd.return
  // CHECK:      split_drop_transferred
  // CHECK-NEXT:   @second
  // CHECK-NEXT:   @third
  // CHECK-NEXT:   stablehlo.cosine
  // CHECK-NEXT:   mpmd.return
  %z = mpmd.transfer %y : (!m2) -> !m1
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %z) (%a: !t, %b: !t) {
    %p = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    %q = stablehlo.custom_call @second(%b) {has_side_effect = true} : (!t) -> !t
    %r = stablehlo.custom_call @third(%a) {has_side_effect = true} : (!t) -> !t
    %s = stablehlo.sine %p : !t
    %c = stablehlo.cosine %r : !t
    mpmd.return %s, %c : !t, !t
  } : (!m1, !m1) -> (!m1, !m1)
  return %0#0, %0#1 : !m1, !m1
}
