// RUN: mpmd-opt %s -mpmd-merge-forward-with-backward | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @merges_with_backward_fragment_after_other_meshes
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @merges_with_backward_fragment_after_other_meshes(%x: !m1, %y: !m2) -> (!m1, !m2)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[N:.*]] = mpmd.fragment<mesh="m2", origin=["g"]> (%[[Y]])
  // CHECK:      %[[M:.*]] = mpmd.fragment<mesh="m1", origin=["f", "f"(1)], stage=1> (%[[X]]) {call_counter = 3 : ui32} (%[[A:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.exponential %[[A]]
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.log %[[S]]
  // CHECK-NEXT:   mpmd.return %[[T]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[M]], %[[N]]
  %0 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 3 : ui32, remat} (%a: !t) {
    %3 = stablehlo.exponential %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m2", origin=["g"]> (%y) (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%0) {call_counter = 3 : ui32} (%a: !t) {
    %3 = stablehlo.log %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  return %2, %1 : !m1, !m2
}

// CHECK-LABEL: func @drops_call_counters_that_differ
func.func @drops_call_counters_that_differ(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f", "g"(1)]> (%{{[^)]*}}) (%
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 3 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"(1)]> (%0) {call_counter = 4 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @leaves_backward_fragment_that_is_not_next_on_the_mesh_alone
func.func @leaves_backward_fragment_that_is_not_next_on_the_mesh_alone(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"(1)]>
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1, %2 : !m1, !m1
}

// CHECK-LABEL: func @leaves_backward_fragment_that_does_not_read_forward_alone
func.func @leaves_backward_fragment_that_does_not_read_forward_alone(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"(1)]>
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %0, %1 : !m1, !m1
}

// What is merged is neither forward nor backward.
// CHECK-LABEL: func @merges_once
func.func @merges_once(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f", "f"(1)]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"(1)]>
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"(1)]> (%1) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @leaves_empty_mixed_and_higher_order_origins_alone
func.func @leaves_empty_mixed_and_higher_order_origins_alone(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f", "g"(1)]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"(1)]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["h"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["h"(2)]>
  %0 = mpmd.fragment<mesh="m1", origin=["f", "g"(1)]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"(1)]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%1) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["h"]> (%2) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=["h"(2)]> (%3) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %4 : !m1
}

// CHECK-LABEL: func @erases_unused_pure_fragment
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @erases_unused_pure_fragment(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: return %[[X]]
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %x : !m1
}

// Name and count make an entry; what the forward fragment repeats stays.
// CHECK-LABEL: func @lists_origins_of_forward_then_of_backward
func.func @lists_origins_of_forward_then_of_backward(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["g", "f", "g", "f"(1), "g"(1)]> (%
  %0 = mpmd.fragment<mesh="m1", origin=["g", "f", "g"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1), "g"(1)]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @leaves_forward_fragment_with_another_consumer_before_alone
func.func @leaves_forward_fragment_with_another_consumer_before_alone(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"(1)]>
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1, %2 : !m1, !m1
}

// CHECK-LABEL: func @merges_at_forward_if_a_transfer_reads_it_before
func.func @merges_at_forward_if_a_transfer_reads_it_before(%x: !m1) -> (!m2, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f", "f"(1)]>
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[M]]#0
  // CHECK-NEXT: return %[[T]], %[[M]]#1
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1, %2 : !m2, !m1
}

// CHECK-LABEL: func @leaves_function_without_mesh_alone
func.func @leaves_function_without_mesh_alone() {
  // CHECK-NEXT: mpmd.fragment
  mpmd.fragment<mesh="m1", origin=[]> () () {
    mpmd.return
  } : () -> ()
  return
}
