// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=ZeroBubbleH1 only-restore=true" -verify-diagnostics | FileCheck %s

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// Merging took the marks of the second halves, and put them to the end.
// CHECK-LABEL: func @puts_merged_halves_back
func.func @puts_merged_halves_back(%x: !m1) -> (!m1, !m1, !m1, !m1, !m1, !m1, !m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK: call_counter = 0 : ui32}
  // CHECK: call_counter = 0 : ui32, split_keep_transferred}
  // CHECK: call_counter = 1 : ui32}
  // CHECK: call_counter = 1 : ui32, split_keep_transferred}
  // CHECK: call_counter = 0 : ui32}
  // CHECK: call_counter = 2 : ui32}
  // CHECK: call_counter = 2 : ui32, split_keep_transferred}
  // CHECK: call_counter = 1 : ui32}
  // CHECK: call_counter = 2 : ui32}
  %f0 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %i0 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 0 : ui32, split_keep_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %f1 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %i1 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 1 : ui32, split_keep_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %f2 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %i2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 2 : ui32, split_keep_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %w0 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %w1 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %w2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %f0, %i0, %f1, %i1, %f2, %i2, %w0, %w1, %w2 : !m1, !m1, !m1, !m1, !m1, !m1, !m1, !m1, !m1
}

// Nothing is said, nor moved, where data flow contradicts.
// CHECK-LABEL: func @leaves_contradictions_alone
func.func @leaves_contradictions_alone(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK: origin=["f"(1)]
  // CHECK: origin=["f"]
  %0 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%0) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %0, %1 : !m1, !m1
}
