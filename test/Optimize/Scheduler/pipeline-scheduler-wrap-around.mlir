// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=ParallelPipelinesWithWrapAround | FileCheck %s

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"pod2_m1", tensor<4xf32>>
#topology = #mpmd.topology<<"pod2_m0": <["x"=2]>>, <"pod2_m1": <["x"=2]>>, <"pod2_m2": <["x"=2]>>>

// The digits at the end count, not those inside: its own microbatch is 1.
// CHECK-LABEL: func @starts_with_the_number_at_the_end_of_the_name
func.func @starts_with_the_number_at_the_end_of_the_name(%x: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: call_counter = 1
  // CHECK:      call_counter = 0
  // CHECK:      call_counter = 2
  %0 = mpmd.fragment<mesh="pod2_m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="pod2_m1", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="pod2_m1", origin=["f"]> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %0, %1, %2 : !m1, !m1, !m1
}
