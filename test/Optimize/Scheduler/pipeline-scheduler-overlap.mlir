// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=Combined1F1B" | FileCheck %s
// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=Combined1F1B" -mpmd-fuse-overlapped-pairs=only-with-collectives=false | FileCheck %s --check-prefix=FUSED
// Plans in files pair as well.
// RUN: meshwright schedule Combined1F1B --meshes 2 --microbatches 3 --csv >%t.csv
// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=file:%t.csv" | FileCheck %s
// RUN: meshwright schedule Combined1F1B --meshes 2 --microbatches 3 --json >%t.json
// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=file:%t.json" | FileCheck %s
// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=Eager1F1B" | FileCheck %s --check-prefix=ALONE

// ALONE-NOT: mpmd.overlap

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// The second mesh overlaps each forward but the first with the backward before it; one of
// these is in halves.
// CHECK-LABEL: func @marks_overlapped_steps
// FUSED-LABEL: func @marks_overlapped_steps
func.func @marks_overlapped_steps(%x: !m1) -> (!m1, !m1, !m1, !m1, !m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK: origin=["f"], {{.*}}{call_counter = 0 : ui32} (
  // CHECK: origin=["f"], {{.*}}{call_counter = 1 : ui32, mpmd.overlap = array<i64: 0, 0>}
  // CHECK: origin=["f"(1)], {{.*}}{call_counter = 0 : ui32, mpmd.overlap = array<i64: 0, 1>, split_keep_transferred}
  // CHECK: origin=["f"(1)], {{.*}}{call_counter = 0 : ui32, mpmd.overlap = array<i64: 0, 1>, split_drop_transferred}
  // CHECK: origin=["f"], {{.*}}{call_counter = 2 : ui32, mpmd.overlap = array<i64: 1, 0>}
  // CHECK: origin=["f"(1)], {{.*}}{call_counter = 1 : ui32, mpmd.overlap = array<i64: 1, 1>}
  // CHECK: origin=["f"(1)], {{.*}}{call_counter = 2 : ui32} (
  // FUSED: origin=["f"], stage=1>
  // FUSED: origin=["f", "f"(1)], stage=1>
  // FUSED: origin=["f", "f"(1)], stage=1>
  // FUSED: origin=["f"(1)], stage=1>
  // FUSED-NOT: mpmd.fragment
  %f0 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %i0 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 0 : ui32, split_keep_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %w0 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 0 : ui32, split_drop_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %f1 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %b1 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %f2 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %b2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %f0, %i0, %w0, %f1, %b1, %f2, %b2 : !m1, !m1, !m1, !m1, !m1, !m1, !m1
}
