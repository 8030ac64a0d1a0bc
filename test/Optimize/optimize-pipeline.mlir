// RUN: mpmd-opt %s -mpmd-optimize-pipeline | FileCheck %s --check-prefixes=CHECK,ALTERNATE
// RUN: mpmd-opt %s -mpmd-optimize-pipeline=pipeline-schedule=1F1B | FileCheck %s --check-prefixes=CHECK,ALTERNATE
// RUN: mpmd-opt %s -mpmd-optimize-pipeline=pipeline-schedule=none | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: mpmd-opt %s -mpmd-optimize-pipeline=pipeline-schedule=builtin:GPipe | FileCheck %s --check-prefixes=CHECK,GPIPE
// RUN: mpmd-opt %s -mpmd-optimize-pipeline=pipeline-schedule=file:%S/Scheduler/Inputs/backwards-swapped.csv | FileCheck %s --check-prefixes=CHECK,SWAPPED
// RUN: mpmd-opt %s "-mpmd-optimize-pipeline=merge-after-scheduling=true pipeline-schedule=none" | FileCheck %s --check-prefix=MERGED

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// CHECK-LABEL: func @schedules_and_leaves_inferred_fragments
// ALTERNATE:   origin=["f"]> (%{{[^)]*}}) {call_counter = 0 : ui32} (
// ALTERNATE:   origin=["f"(1)]> (%{{[^)]*}}) {call_counter = 0 : ui32} (
// ALTERNATE:   origin=["f"]> (%{{[^)]*}}) {call_counter = 1 : ui32} (
// ALTERNATE:   origin=["f"(1)]> (%{{[^)]*}}) {call_counter = 1 : ui32} (
// NONE:        origin=["f"(1)]> (%{{[^)]*}}) {call_counter = 1 : ui32} (
// NONE:        origin=["f"(1)]> (%{{[^)]*}}) {call_counter = 0 : ui32} (
// NONE:        origin=["f"]> (%{{[^)]*}}) {call_counter = 1 : ui32} (
// NONE:        origin=["f"]> (%{{[^)]*}}) {call_counter = 0 : ui32} (
// GPIPE:       origin=["f"]> (%{{[^)]*}}) {call_counter = 0 : ui32} (
// GPIPE:       origin=["f"]> (%{{[^)]*}}) {call_counter = 1 : ui32} (
// GPIPE:       origin=["f"(1)]> (%{{[^)]*}}) {call_counter = 0 : ui32} (
// GPIPE:       origin=["f"(1)]> (%{{[^)]*}}) {call_counter = 1 : ui32} (
// SWAPPED:     origin=["f"]> (%{{[^)]*}}) {call_counter = 0 : ui32} (
// SWAPPED:     origin=["f"]> (%{{[^)]*}}) {call_counter = 1 : ui32} (
// SWAPPED:     origin=["f"(1)]> (%{{[^)]*}}) {call_counter = 1 : ui32} (
// SWAPPED:     origin=["f"(1)]> (%{{[^)]*}}) {call_counter = 0 : ui32} (
// CHECK-NOT:   mpmd.fragment
// CHECK:       {{^}}  return
// MERGED-LABEL: func @schedules_and_leaves_inferred_fragments
func.func @schedules_and_leaves_inferred_fragments(%x: !m0) -> (!m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1, %2, %3 : !m0, !m0, !m0, !m0
}

// CHECK-LABEL: func @merges_inferred_fragments_on_demand
// CHECK:       origin=[]>
// CHECK:       origin=["f"]>
// MERGED-LABEL: func @merges_inferred_fragments_on_demand
// MERGED-NOT:   origin=[]>
// MERGED:       origin=["f"]>
func.func @merges_inferred_fragments_on_demand(%x: !m0) -> !m0 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=[]> (%x) (%a: !l) {
    %n = stablehlo.negate %a : !l
    mpmd.return %n : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"]> (%0) (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %1 : !m0
}
