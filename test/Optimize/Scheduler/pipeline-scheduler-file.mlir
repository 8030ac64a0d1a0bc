// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=file:%S/Inputs/backwards-swapped.csv -verify-diagnostics -split-input-file | FileCheck %s

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// The file says 0F0,0F1,0B1,0B0.
// CHECK-LABEL: func @follows_the_file
// CHECK:       origin=["f"]> {{.*}}call_counter = 0
// CHECK:       origin=["f"]> {{.*}}call_counter = 1
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 1
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 0
func.func @follows_the_file(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%0) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%2) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %1, %3 : !m0, !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// The half that stays behind the other has no cell of its own.
// CHECK-LABEL: func @runs_halves_in_the_place_of_the_whole
// CHECK:       origin=["f"]> {{.*}}call_counter = 1
// CHECK:       split_keep_transferred
// CHECK:       split_drop_transferred
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 0
func.func @runs_halves_in_the_place_of_the_whole(%x: !m0) -> (!m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32, split_drop_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32, split_keep_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1, %2, %3 : !m0, !m0, !m0, !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// CHECK-LABEL: func @warns_where_data_flow_contradicts
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 0
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 1
func.func @warns_where_data_flow_contradicts(%x: !m0) -> !m0 attributes {topology = #topology} {
  // expected-note@+1 {{this is the other fragment; microbatches may depend on each other by what was merged into them before scheduling}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-warning@+1 {{needs its results; data flow wins}}
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%0) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %1 : !m0
}

// -----

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// CHECK-LABEL: func @leaves_functions_without_units_alone
func.func @leaves_functions_without_units_alone(%x: !m0) -> !m0 attributes {topology = #topology} {
  // CHECK-NEXT: return %arg0
  return %x : !m0
}
