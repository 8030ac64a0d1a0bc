// RUN: mpmd-opt %s -mpmd-split-bwd-fragments | FileCheck %s

!t = tensor<f32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<f32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<f32>>
#topology = #mpmd.topology<<"m1": <["x"=1]>>, <"m2": <["x"=1]>>>

// Only @second is needed for what is transferred, but @first comes before it.
// CHECK-LABEL: func @effects_keep_their_order
func.func @effects_keep_their_order(%x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK:     split_keep_transferred
  // CHECK:       stablehlo.sine
  // CHECK-NEXT:  @first
  // CHECK-NEXT:  @second
  // CHECK-NOT:   custom_call
  // CHECK:     split_drop_transferred
  // CHECK-NOT:   @first
  // CHECK:       stablehlo.cosine
  // CHECK-NEXT:  @third
  // CHECK-NEXT:  stablehlo.add
  // CHECK-NOT:   custom_call
  // CHECK:     mpmd.transfer
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%x) (%a: !t) {
    %s = stablehlo.sine %a : !t
    %p = stablehlo.custom_call @first(%s) {has_side_effect = true} : (!t) -> !t
    %q = stablehlo.custom_call @second(%a) {has_side_effect = true} : (!t) -> !t
    %c = stablehlo.cosine %p : !t
    stablehlo.custom_call @third(%c) {has_side_effect = true} : (!t) -> ()
    %d = stablehlo.add %c, %p : !t
    mpmd.return %d, %q : !t, !t
  } : (!m1) -> (!m1, !m1)
  %1 = mpmd.transfer %0#1 : (!m1) -> !m2
  return %0#0, %1 : !m1, !m2
}
