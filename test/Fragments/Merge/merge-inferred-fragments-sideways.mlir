// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments=merge-sideways=true | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// The results of the producer that others use stay, before all of the partner.
// CHECK-LABEL: func @merges_with_next_fragment_of_the_mesh
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd{{.*}}, %[[Z:.*]]: !mpmd
func.func @merges_with_next_fragment_of_the_mesh(%x: !m1, %y: !m1, %z: !m2) -> (!m1, !m1, !m2)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[N:.*]] = mpmd.fragment<mesh="m2", origin=["g"]> (%[[Z]])
  // CHECK:      %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[Y]]) (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine %[[A]]
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.cosine %[[B]]
  // CHECK-NEXT:   mpmd.return %[[S]], %[[T]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[M]]#0, %[[M]]#1, %[[N]]
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %3 = stablehlo.sine %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m2", origin=["g"]> (%z) (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%y) (%a: !t) {
    %3 = stablehlo.cosine %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  return %0, %2, %1 : !m1, !m1, !m2
}

// CHECK-LABEL: func @merges_at_producer_if_something_before_the_neighbour_uses_it
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @merges_at_producer_if_something_before_the_neighbour_uses_it(%x: !m1, %y: !m1) -> (!m2, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[Y]])
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[M]]#0
  // CHECK-NEXT: return %[[T]], %[[M]]#1
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%y) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1, %2 : !m2, !m1
}

// CHECK-LABEL: func @leaves_neighbour_that_depends_through_another_mesh_alone
func.func @leaves_neighbour_that_depends_through_another_mesh_alone(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.fragment<mesh="m2", origin=[]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=[]>
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.fragment<mesh="m2", origin=[]> (%1) (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %3 = mpmd.transfer %2 : (!m2) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=[]> (%3) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %4 : !m1
}

// CHECK-LABEL: func @stops_at_neighbour_that_is_refused
func.func @stops_at_neighbour_that_is_refused(%x: !m1) -> (!m1, !m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]] = mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      %[[N:.*]]:2 = mpmd.fragment<mesh="m1", origin=["g"]>
  // CHECK:      return %[[M]], %[[N]]#0, %[[N]]#1
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %0, %1, %2 : !m1, !m1, !m1
}

// CHECK-LABEL: func @merges_a_row_of_neighbours
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @merges_a_row_of_neighbours(%x: !m1, %y: !m1) -> (!m1, !m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:3 = mpmd.fragment<mesh="m1", origin=[]> (%[[X]], %[[Y]]) {mpmd.inferred_by = ["p", "q", "r"]}
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   stablehlo.cosine
  // CHECK:      return %[[M]]#0, %[[M]]#1, %[[M]]#2
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {mpmd.inferred_by = ["p"]} (%a: !t) {
    %3 = stablehlo.abs %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%y) {mpmd.inferred_by = ["q"]} (%a: !t) {
    %3 = stablehlo.sine %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%x) {mpmd.inferred_by = ["r"]} (%a: !t) {
    %3 = stablehlo.cosine %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  return %0, %1, %2 : !m1, !m1, !m1
}

// The last two merge, at the place of the last; the first one then meets a user
// fragment.
// CHECK-LABEL: func @stops_at_what_the_neighbour_was_merged_into
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @stops_at_what_the_neighbour_was_merged_into(%x: !m1, %y: !m1) -> (!m1, !m2, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[F]]
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["g"]> (%[[F]], %[[Y]]) {call_counter = 9 : ui32}
  // CHECK:      return %[[M]]#0, %[[T]], %[[M]]#1
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
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

// CHECK-LABEL: func @leaves_consumer_that_is_not_the_next_of_its_mesh
func.func @leaves_consumer_that_is_not_the_next_of_its_mesh(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"]>
  // CHECK-NOT:  mpmd.fragment
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1, %2 : !m1, !m1
}

// CHECK-LABEL: func @keeps_halves_of_a_split_apart
func.func @keeps_halves_of_a_split_apart(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {split_keep_transferred}
  // CHECK:      mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {split_drop_transferred}
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {split_keep_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%x) {split_drop_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %0, %1 : !m1, !m1
}
