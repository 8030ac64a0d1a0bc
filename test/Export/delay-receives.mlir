// RUN: mpmd-opt %s -mpmd-delay-receives=bound=0 | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: mpmd-opt %s -mpmd-delay-receives=bound=16 | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: mpmd-opt %s -mpmd-delay-receives=bound=auto | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: mpmd-opt %s -mpmd-delay-receives=bound=1GB | FileCheck %s --check-prefix=ENOUGH
// RUN: mpmd-opt %s -mpmd-delay-receives | FileCheck %s --check-prefix=ENOUGH
// RUN: mpmd-opt %s -mpmd-delay-receives=bound=16 --remarks-filter=receive --remark-policy=all --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not mpmd-opt %s -mpmd-delay-receives=bound=some 2>&1 | FileCheck %s --check-prefix=TEXT

!l = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4xf32>>
!o = !mpmd.mesh_tensor<"o", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=1]>>, <"n": <["x"=1]>>, <"o": <["x"=1]>>>

// ENOUGH-NOT: mpmd.delayed
// TEXT: error: mpmd_receive_ahead: 'some' is not a number of bytes; write it like 80GB, 1.5GiB or 4096, 0 or auto

// A value is there while one fragment runs that does not read it. For `auto`, the second
// fragment of n holds most, with two results, so that the third one's value waits, but not
// the second one's.
// REMARK: remark: [Passed] receives {{.*}}n{{.*}}1{{.*}} of {{.*}}3{{.*}} values from other meshes stay there until it has memory for them
// CHECK-LABEL: func @runs_ahead
// CHECK:         %[[M0:.*]] = mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         mpmd.transfer %[[M0]]
// CHECK:         %[[M1:.*]] = mpmd.fragment<mesh="m", origin=["f"]>
// ONE:           mpmd.transfer %[[M1]]
// CHECK:         %[[M2:.*]] = mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         mpmd.fragment<mesh="n", origin=["g"]>
// NONE:          mpmd.transfer {mpmd.delayed} %[[M1]]
// ONE-NEXT:        mpmd.return
// ONE-NEXT:      }
// CHECK:         mpmd.transfer {mpmd.delayed} %[[M2]]
// CHECK-NEXT:    mpmd.fragment<mesh="n", origin=["g"]>
func.func @runs_ahead(%x: !m, %y: !n) -> (!m, !n) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %t0 = mpmd.transfer %0 : (!m) -> !n
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %t1 = mpmd.transfer %1 : (!m) -> !n
  %2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %t2 = mpmd.transfer %2 : (!m) -> !n
  %n0 = mpmd.fragment<mesh="n", origin=["g"]> (%t0) (%a: !l) {
    mpmd.return %a : !l
  } : (!n) -> !n
  %n1:2 = mpmd.fragment<mesh="n", origin=["g"]> (%t1) (%a: !l) {
    mpmd.return %a, %a : !l, !l
  } : (!n) -> (!n, !n)
  %n2 = mpmd.fragment<mesh="n", origin=["g"]> (%t2) (%a: !l) {
    mpmd.return %a : !l
  } : (!n) -> !n
  return %2, %n2 : !m, !n
}

// What cannot be there earlier by data flow needs no delay.
// CHECK-LABEL: func @is_made_of_what_runs_before
// CHECK-NOT:     mpmd.delayed
func.func @is_made_of_what_runs_before(%y: !n) -> !n attributes {topology = #topology} {
  %n0 = mpmd.fragment<mesh="n", origin=["g"]> (%y) (%a: !l) {
    mpmd.return %a : !l
  } : (!n) -> !n
  %t0 = mpmd.transfer %n0 : (!n) -> !m
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%t0) (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %t1 = mpmd.transfer %0 : (!m) -> !n
  %n1 = mpmd.fragment<mesh="n", origin=["g"]> (%t1) (%a: !l) {
    mpmd.return %a : !l
  } : (!n) -> !n
  return %n1 : !n
}

// The second fragment of m takes over the memory of what is sent.
// CHECK-LABEL: func @goes_before_its_memory_does
// CHECK:         %[[M0:.*]] = mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         mpmd.transfer {{.*}}%[[M0]]
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"]> (%[[M0]])
// CHECK:         mpmd.fragment<mesh="n", origin=["g"]>
func.func @goes_before_its_memory_does(%x: !m, %y: !n) -> (!m, !n) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %t0 = mpmd.transfer %0 : (!m) -> !n
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) {arg_attrs = [{tf.aliasing_output = 0 : i32}]} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %n0 = mpmd.fragment<mesh="n", origin=["g"]> (%y) (%a: !l) {
    mpmd.return %a : !l
  } : (!n) -> !n
  %n1 = mpmd.fragment<mesh="n", origin=["g"]> (%t0) (%a: !l) {
    mpmd.return %a : !l
  } : (!n) -> !n
  return %1, %n1 : !m, !n
}

// What goes on to another mesh, and what is only returned, is sent at once.
// CHECK-LABEL: func @is_passed_on
// CHECK-NOT:     mpmd.delayed
func.func @is_passed_on(%x: !m, %y: !n) -> (!n, !n, !o) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %t0 = mpmd.transfer %0 : (!m) -> !n
  %t1 = mpmd.transfer %t0 : (!n) -> !o
  %n0 = mpmd.fragment<mesh="n", origin=["g"]> (%y) (%a: !l) {
    mpmd.return %a : !l
  } : (!n) -> !n
  return %t0, %n0, %t1 : !n, !n, !o
}
