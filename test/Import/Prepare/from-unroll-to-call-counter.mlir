// RUN: mpmd-opt %s -mpmd-from-unroll-to-call-counter | FileCheck %s
// RUN: mpmd-opt %s -mpmd-from-unroll-to-call-counter=erase-others | FileCheck %s --check-prefix=ERASE

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func public @renames_counter_of_calls_only
func.func public @renames_counter_of_calls_only(%x: !t) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.call @f(%{{.*}}) {call_counter = 4 : ui32} :
  // CHECK-NEXT: mpmd.call @f(%{{.*}}) {call_counter = 5 : ui32, kept} :
  // CHECK-NEXT: mpmd.call @f(%{{.*}}) {call_counter = 6 : ui32} :
  // CHECK-NEXT: mpmd.call @f(%{{.*}}) {unroll_counter = "7"} :
  // CHECK-NEXT: mpmd.assign {unroll_counter = 4 : ui32}
  // ERASE-LABEL: func public @renames_counter_of_calls_only
  // ERASE-NEXT: mpmd.call @f(%{{.*}}) {call_counter = 4 : ui32} :
  // ERASE:      mpmd.call @f(%{{.*}}) {unroll_counter = "7"} :
  // ERASE-NEXT: mpmd.assign %
  %0 = mpmd.call @f(%x) {unroll_counter = 4 : ui32} : (!t) -> !t
  %1 = mpmd.call @f(%0) {unroll_counter = 5 : ui32, call_counter = 9 : ui32, kept} : (!t) -> !t
  %2 = mpmd.call @f(%1) {call_counter = 6 : ui32} : (!t) -> !t
  %3 = mpmd.call @f(%2) {unroll_counter = "7"} : (!t) -> !t
  %4 = mpmd.assign {unroll_counter = 4 : ui32} %3 : (!t) -> !m1
  return %4 : !m1
}

// CHECK-LABEL: func public @renames_counter_of_calls_in_loops
func.func public @renames_counter_of_calls_in_loops(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK: mpmd.call @f(%{{.*}}) {call_counter = 2 : ui32} :
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%s: !t, %index: tensor<ui32>) {
    %1 = mpmd.call @f(%s) {unroll_counter = 2 : ui32} : (!t) -> !t
    mpmd.return %1 : !t
  } : !t
  return %0 : !t
}

// CHECK-LABEL: func @leaves_functions_without_mesh_alone
func.func @leaves_functions_without_mesh_alone(%x: !t) -> !t {
  // CHECK-NEXT: mpmd.call @f(%{{.*}}) {unroll_counter = 4 : ui32} :
  %0 = mpmd.call @f(%x) {unroll_counter = 4 : ui32} : (!t) -> !t
  return %0 : !t
}

func.func private @f(%x: !t) -> !t attributes {topology = #topology} {
  return %x : !t
}
