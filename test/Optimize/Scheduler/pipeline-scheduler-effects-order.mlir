// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=GPipe | FileCheck %s

!t = tensor<f32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<f32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// CHECK-LABEL: func @only_forward_fragments_have_effects
// CHECK:       origin=["f"]> {{.*}}call_counter = 0
// CHECK-NEXT:  @first
// CHECK:       origin=["f"]> {{.*}}call_counter = 1
// CHECK-NEXT:  @second
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 0
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 1
func.func @only_forward_fragments_have_effects(%x: !m0) -> (!m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    %c = stablehlo.custom_call @second(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m0) -> !m0
  return %0, %1, %2, %3 : !m0, !m0, !m0, !m0
}
