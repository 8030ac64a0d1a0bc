// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments=merge-any-consumer=true | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// The merge is at the producer, because others read it before.
// CHECK-LABEL: func @skips_consumers_that_are_refused
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @skips_consumers_that_are_refused(%x: !m1, %y: !m1) -> (!m1, !m2, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[Y]]) {call_counter = 9 : ui32} (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine %[[A]]
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.power %[[B]], %[[S]]
  // CHECK-NEXT:   mpmd.return %[[S]], %[[T]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[U:.*]] = mpmd.transfer %[[M]]#0
  // CHECK-NEXT: %[[N:.*]] = mpmd.fragment<mesh="m1", origin=["g"]> (%[[M]]#0)
  // CHECK:      return %[[N]], %[[U]], %[[M]]#1
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %4 = stablehlo.sine %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=[]> (%y, %0) {call_counter = 9 : ui32} (%a: !t, %b: !t) {
    %4 = stablehlo.power %a, %b : !t
    mpmd.return %4 : !t
  } : (!m1, !m1) -> !m1
  return %2, %1, %3 : !m1, !m2, !m1
}

// The first inferred consumer reads the user fragment, so it can go to neither
// place; the second one could, but is not tried.
// CHECK-LABEL: func @stops_at_accepted_consumer_that_cannot_be_placed
func.func @stops_at_accepted_consumer_that_cannot_be_placed(%x: !m1) -> (!m1, !m1, !m1)
    attributes {topology = #topology} {
  // CHECK-COUNT-4: = mpmd.fragment
  // CHECK:         return
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1:2 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a, %a : !t, !t
  } : (!m1) -> (!m1, !m1)
  %2 = mpmd.transfer %1#1 : (!m1) -> !m2
  %3 = mpmd.transfer %2 : (!m2) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=[]> (%0, %3) (%a: !t, %b: !t) {
    mpmd.return %a : !t
  } : (!m1, !m1) -> !m1
  %5 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1#0, %4, %5 : !m1, !m1, !m1
}

// Once the inferred consumer is in, its user is a candidate as well.
// CHECK-LABEL: func @goes_on_with_the_merged_fragment
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @goes_on_with_the_merged_fragment(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[G:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.cosine %[[S]]
  // CHECK-NEXT:   %[[U:.*]] = stablehlo.abs %[[S]]
  // CHECK-NEXT:   mpmd.return %[[S]], %[[U]]
  // CHECK:      %[[H:.*]] = mpmd.fragment<mesh="m1", origin=["g"]> (%[[G]]#0)
  // CHECK:      return %[[H]], %[[G]]#1
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %4 = stablehlo.sine %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    %4 = stablehlo.cosine %a : !t
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=[]> (%2) (%a: !t) {
    %4 = stablehlo.abs %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  return %1, %3 : !m1, !m1
}

// CHECK-LABEL: func @keeps_halves_of_a_split_apart
func.func @keeps_halves_of_a_split_apart(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {split_keep_transferred}
  // CHECK:      mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {split_drop_transferred}
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {split_keep_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) {split_drop_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}
