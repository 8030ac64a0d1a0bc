// RUN: mpmd-opt %s -mpmd-introduce-transfers -allow-unregistered-dialect | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// Nothing is known of what comes from a callee that does not return.
// CHECK-LABEL: func public @takes_results_of_unknown_ends_as_they_are
// CHECK-NOT:     mpmd.transfer
func.func public @takes_results_of_unknown_ends_as_they_are(%x: !m1) -> !t attributes {topology = #topology} {
  %0 = mpmd.unassign %x : (!m1) -> !t
  %1 = mpmd.call @ends(%0) : (!t) -> !t
  %2 = mpmd.call @assigns(%1) : (!t) -> !t
  return %2 : !t
}
// CHECK-LABEL: func private @assigns
// CHECK-NEXT:    mpmd.assign %arg0 : {{.*}}"m2"
func.func private @assigns(%x: !t) -> !t attributes {topology = #topology} {
  %0 = mpmd.assign %x : (!t) -> !m2
  %1 = mpmd.unassign %0 : (!m2) -> !t
  return %1 : !t
}
func.func private @ends(%x: !t) -> !t attributes {topology = #topology} {
  "test.end"() : () -> ()
}
