// RUN: mpmd-opt %s '-mpmd-rule-based-schedule=rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["f"(1)],call_counter=1,mesh_name="m0")->FragmentInfo(origins=["missing"],mesh_name="m0")->FragmentInfo(origins=["f"],call_counter=0,mesh_name="m0")])' | FileCheck %s

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// CHECK-LABEL: func @bridges_over_a_missing_fragment
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 1
// CHECK:       origin=["f"]> {{.*}} {call_counter = 0 : ui32} (
// CHECK-NOT:   control_operand_start_idx
func.func @bridges_over_a_missing_fragment(%x: !m0) -> (!m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1, %2, %3 : !m0, !m0, !m0, !m0
}
