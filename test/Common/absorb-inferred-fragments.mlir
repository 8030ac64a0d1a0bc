// RUN: mpmd-opt %s -mpmd-absorb-inferred-fragments | FileCheck %s
// RUN: mpmd-opt %s -mpmd-absorb-inferred-fragments=absorb-on-entry-point-function=true | FileCheck %s --check-prefix=ENTRY

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// The transfer of the producer is delayed, that of the consumer advanced.
// CHECK-LABEL: func private @absorbs_producer_and_consumer_around_transfers
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func private @absorbs_producer_and_consumer_around_transfers(%x: !m1, %y: !m2) -> (!m1, !m2)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[U:.*]] = mpmd.transfer %[[Y]]
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[U]]) {call_counter = 6 : ui32} (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.negate %[[A]]
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.add %[[A]], %[[S]]
  // CHECK-NEXT:   %[[V:.*]] = stablehlo.multiply %[[B]], %[[T]]
  // CHECK-NEXT:   mpmd.return %[[S]], %[[V]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[W:.*]] = mpmd.transfer %[[M]]#0
  // CHECK-NEXT: return %[[M]]#1, %[[W]]
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {call_counter = 2 : ui32} (%a: !t) {
    %5 = stablehlo.negate %a : !t
    mpmd.return %5 : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %0) {call_counter = 6 : ui32} (%a: !t, %b: !t) {
    %5 = stablehlo.add %a, %b : !t
    mpmd.return %5 : !t
  } : (!m1, !m1) -> !m1
  %3 = mpmd.transfer %y : (!m2) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=[]> (%3, %2) (%a: !t, %b: !t) {
    %5 = stablehlo.multiply %a, %b : !t
    mpmd.return %5 : !t
  } : (!m1, !m1) -> !m1
  return %4, %1 : !m1, !m2
}

// Both producers are short forms: the operand of each takes its place.
// CHECK-LABEL: func private @keeps_repeated_operands_of_the_root
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func private @keeps_repeated_operands_of_the_root(%x: !m1, %y: !m2) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[Y]]
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%[[T]], %[[X]], %[[X]])
  %0 = mpmd.transfer %y : (!m2) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %4 = stablehlo.negate %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %4 = stablehlo.abs %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["f"]> (%0, %1, %2) (%a: !t, %b: !t, %c: !t) {
    %4 = stablehlo.clamp %a, %b, %c : !t
    mpmd.return %4 : !t
  } : (!m1, !m1, !m1) -> !m1
  return %3 : !m1
}

// Both ends of the chain are roots, and the end is visited first.
// CHECK-LABEL: func private @lists_who_inferred_the_root_first
func.func private @lists_who_inferred_the_root_first(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {kept, mpmd.inferred_by = ["b", "c", "a"]} (%
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   stablehlo.negate
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {mpmd.inferred_by = ["a", "c"], gone} (%a: !t) {
    %2 = stablehlo.abs %a : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) {mpmd.inferred_by = ["b", "c"], kept} (%a: !t) {
    %2 = stablehlo.negate %a : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func private @keeps_attributes_of_a_user_root_as_they_are
func.func private @keeps_attributes_of_a_user_root_as_they_are(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%{{.*}}) {kept, remat} (%
  %0 = mpmd.fragment<mesh="m1", origin=[], stage=1> (%x) {call_counter = 2 : ui32, mpmd.inferred_by = ["a"]} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) {kept, remat} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func private @gives_producer_to_first_and_consumer_to_last_user_fragment
func.func private @gives_producer_to_first_and_consumer_to_last_user_fragment(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   mpmd.return
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"]>
  // CHECK-NEXT:   stablehlo.negate
  // CHECK-NEXT:   stablehlo.add
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %4 = stablehlo.sine %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    %4 = stablehlo.abs %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    %4 = stablehlo.negate %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=[]> (%1, %2) (%a: !t, %b: !t) {
    %4 = stablehlo.add %a, %b : !t
    mpmd.return %4 : !t
  } : (!m1, !m1) -> !m1
  return %3 : !m1
}

// Users are met in the order of the use list, last one first; each merge turns
// the rest of the list round.
// CHECK-LABEL: func private @absorbs_consumers_in_use_order
func.func private @absorbs_consumers_in_use_order(%x: !m1) -> (!m1, !m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   stablehlo.cosine
  // CHECK-NEXT:   stablehlo.negate
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   mpmd.return
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %4 = stablehlo.abs %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    %4 = stablehlo.negate %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    %4 = stablehlo.sine %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    %4 = stablehlo.cosine %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  return %1, %2, %3 : !m1, !m1, !m1
}

// CHECK-LABEL: func private @reverses_delayed_transfers_with_one_first_user
func.func private @reverses_delayed_transfers_with_one_first_user(%x: !m1) -> (!m2, !m2, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment
  // CHECK:      %[[B:.*]] = mpmd.transfer {b} %[[M]]#0
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer {a} %[[M]]#0
  // CHECK-NEXT: return %[[A]], %[[B]], %[[M]]#1
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer {a} %0 : (!m1) -> !m2
  %2 = mpmd.transfer {b} %0 : (!m1) -> !m2
  %3 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1, %2, %3 : !m2, !m2, !m1
}

// CHECK-LABEL: func private @leaves_producer_whose_transfer_is_needed_before_alone
func.func private @leaves_producer_whose_transfer_is_needed_before_alone(%x: !m1) -> (!m2, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.transfer
  // CHECK-NEXT: mpmd.fragment<mesh="m2", origin=["g"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]>
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.fragment<mesh="m2", origin=["g"]> (%1) (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %3 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %2, %3 : !m2, !m1
}

// CHECK-LABEL: func private @leaves_consumer_that_reads_a_later_value_alone
func.func private @leaves_consumer_that_reads_a_later_value_alone(%x: !m1, %y: !m2) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m2", origin=["g"]>
  // CHECK:      mpmd.transfer
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]>
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m2", origin=["g"]> (%y) (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %2 = mpmd.transfer %1 : (!m2) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=[]> (%0, %2) (%a: !t, %b: !t) {
    %4 = stablehlo.add %a, %b : !t
    mpmd.return %4 : !t
  } : (!m1, !m1) -> !m1
  return %3 : !m1
}

// CHECK-LABEL: func private @leaves_user_fragments_apart
func.func private @leaves_user_fragments_apart(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-COUNT-2: = mpmd.fragment
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func private @removes_unused_ops_and_moves_constants_to_the_front
func.func private @removes_unused_ops_and_moves_constants_to_the_front(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.constant
  // CHECK-NEXT:   stablehlo.add %{{.*}}, %[[C]]
  // CHECK-NEXT:   stablehlo.multiply %{{.*}}, %[[C]]
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %3 = stablehlo.constant dense<1.0> : !t
    %4 = stablehlo.add %a, %3 : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %x : (!m1) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    %3 = stablehlo.sine %a : !t
    %4 = stablehlo.constant dense<1.0> : !t
    %5 = stablehlo.multiply %a, %4 : !t
    mpmd.return %5 : !t
  } : (!m1) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func public @leaves_entry_points_alone
// ENTRY-LABEL: func public @leaves_entry_points_alone
func.func public @leaves_entry_points_alone(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]>
  // ENTRY-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // ENTRY-NOT:  mpmd.fragment
  // ENTRY:      return
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}
