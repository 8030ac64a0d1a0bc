// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=Seq1F1B:2 | FileCheck %s

// One mesh, two microbatches of two chunks: those of the first go forward, and come back
// in reverse, each in turn with one of the second. What a chunk reads of those before it
// is no contradiction.

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// CHECK-LABEL: func.func @chunks_come_back_in_reverse
// CHECK: origin=["f"], stage=0>{{.*}}call_counter = 0
// CHECK: origin=["f"], stage=0>{{.*}}call_counter = 1
// CHECK: origin=["f"(1)], stage=0>{{.*}}call_counter = 1
// CHECK: origin=["f"], stage=0>{{.*}}call_counter = 2
// CHECK: origin=["f"(1)], stage=0>{{.*}}call_counter = 0
// CHECK: origin=["f"], stage=0>{{.*}}call_counter = 3
// CHECK: origin=["f"(1)], stage=0>{{.*}}call_counter = 3
// CHECK: origin=["f"(1)], stage=0>{{.*}}call_counter = 2
func.func @chunks_come_back_in_reverse(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  %f0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %f1 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x, %f0) {call_counter = 1 : ui32} (%a: !l, %b: !l) {
    mpmd.return %b : !l
  } : (!m0, !m0) -> !m0
  %f2 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %f3 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x, %f2) {call_counter = 3 : ui32} (%a: !l, %b: !l) {
    mpmd.return %b : !l
  } : (!m0, !m0) -> !m0
  %b1 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%f1) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %b0 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%f0, %b1) {call_counter = 0 : ui32} (%a: !l, %b: !l) {
    mpmd.return %b : !l
  } : (!m0, !m0) -> !m0
  %b3 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%f3) {call_counter = 3 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %b2 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%f2, %b3) {call_counter = 2 : ui32} (%a: !l, %b: !l) {
    mpmd.return %b : !l
  } : (!m0, !m0) -> !m0
  return %b0, %b2 : !m0, !m0
}
