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

// The producer of the first operand is taken first, and so ends up next to the
// root, although it is the farther one.
// CHECK-LABEL: func private @takes_the_first_producer_in_operand_order
func.func private @takes_the_first_producer_in_operand_order(%x: !m1, %y: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   stablehlo.cosine
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   stablehlo.add
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %3 = stablehlo.sine %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%y) (%a: !t) {
    %3 = stablehlo.cosine %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%0, %1) (%a: !t, %b: !t) {
    %3 = stablehlo.add %a, %b : !t
    mpmd.return %3 : !t
  } : (!m1, !m1) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func private @erases_unused_transfer_of_an_absorbed_producer
func.func private @erases_unused_transfer_of_an_absorbed_producer(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NOT:  mpmd.transfer
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %2 : !m1
}

// The merged fragment is where the root was; what came in between follows.
// CHECK-LABEL: func private @absorbs_consumer_at_the_place_of_the_root
func.func private @absorbs_consumer_at_the_place_of_the_root(%x: !m1, %y: !m2) -> (!m1, !m2)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m2", origin=["g"]>
  // CHECK-NOT:  mpmd.fragment
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m2", origin=["g"]> (%y) (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %2, %1 : !m1, !m2
}

// Neither user fragment can take the inferred ones: the first is needed with a
// later value, the second after its transfer. Between two fragments, they are
// no roots themselves.
// CHECK-LABEL: func private @leaves_inferred_fragments_between_others_alone
func.func private @leaves_inferred_fragments_between_others_alone(%x: !m1, %y: !m2)
    -> (!m2, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m2", origin=["g"]>
  // CHECK:      mpmd.transfer
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.transfer
  // CHECK-NEXT: mpmd.fragment<mesh="m2", origin=["h"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["k"]>
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m2", origin=["g"]> (%y) (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %2 = mpmd.transfer %1 : (!m2) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=[]> (%0, %2) (%a: !t, %b: !t) {
    %8 = stablehlo.add %a, %b : !t
    mpmd.return %8 : !t
  } : (!m1, !m1) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=[]> (%3) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %5 = mpmd.transfer %4 : (!m1) -> !m2
  %6 = mpmd.fragment<mesh="m2", origin=["h"]> (%5) (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %7 = mpmd.fragment<mesh="m1", origin=["k"]> (%4) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %6, %7 : !m2, !m1
}

// Only the transfer next to the producer moves, so the second one is still
// in front of the root and needs the first there.
// CHECK-LABEL: func private @moves_transfers_by_one_hop
func.func private @moves_transfers_by_one_hop(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.transfer
  // CHECK-NEXT: mpmd.transfer
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.transfer %1 : (!m2) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %2, %3 : !m1, !m1
}

// Of scattered constants, the last one comes first; a nested one comes out. One
// that is first already, and one right after it, stay.
// CHECK-LABEL: func private @moves_scattered_and_nested_constants_to_the_front
func.func private @moves_scattered_and_nested_constants_to_the_front(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   stablehlo.constant dense<4.0
  // CHECK-NEXT:   stablehlo.constant dense<false>
  // CHECK-NEXT:   stablehlo.constant dense<3.0
  // CHECK-NEXT:   stablehlo.constant dense<1.0
  // CHECK-NEXT:   stablehlo.constant dense<2.0
  // CHECK-NEXT:   stablehlo.add
  // CHECK-NEXT:   stablehlo.add
  // CHECK-NEXT:   stablehlo.add
  // CHECK-NEXT:   stablehlo.while
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %1 = stablehlo.constant dense<1.0> : !t
    %2 = stablehlo.constant dense<2.0> : !t
    %3 = stablehlo.add %1, %2 : !t
    %4 = stablehlo.add %a, %3 : !t
    %5 = stablehlo.constant dense<3.0> : !t
    %6 = stablehlo.add %4, %5 : !t
    %7 = stablehlo.while(%s = %6) : !t
    cond {
      %9 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      stablehlo.return %s : !t
    }
    %8 = stablehlo.constant dense<4.0> : !t
    %10 = stablehlo.add %7, %8 : !t
    mpmd.return %10 : !t
  } : (!m1) -> !m1
  return %0 : !m1
}

// CHECK-LABEL: func private @makes_equal_constants_of_the_function_one
func.func private @makes_equal_constants_of_the_function_one(%x: !t) -> (!t, !t)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[C:.*]] = stablehlo.constant
  // CHECK-NEXT: stablehlo.add %{{.*}}, %[[C]]
  // CHECK-NEXT: stablehlo.multiply %{{.*}}, %[[C]]
  // CHECK-NEXT: return
  %0 = stablehlo.constant dense<1.0> : !t
  %1 = stablehlo.add %x, %0 : !t
  %2 = stablehlo.constant dense<1.0> : !t
  %3 = stablehlo.multiply %x, %2 : !t
  return %1, %3 : !t, !t
}

// The first two readers absorb what they read, then the result absorbs the rest
// from both ends, all at once.
// CHECK-LABEL: func private @absorbs_all_readers_of_inferred_fragment
func.func private @absorbs_all_readers_of_inferred_fragment(%x: !m1) -> (!m1, !m1, !m1, !m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]]:6 = mpmd.fragment<mesh="m1", origin=[]>
  // CHECK-SAME:   {mpmd.inferred_by = ["c2", "c1", "p", "c6", "c3", "c5", "c4"], second}
  // CHECK-NEXT:   %[[P:.*]] = stablehlo.negate
  // CHECK-NEXT:   stablehlo.abs %[[P]]
  // CHECK-NEXT:   stablehlo.sine %[[P]]
  // CHECK-NEXT:   stablehlo.log %[[P]]
  // CHECK-NEXT:   stablehlo.tanh %[[P]]
  // CHECK-NEXT:   stablehlo.sqrt %[[P]]
  // CHECK-NEXT:   stablehlo.cosine %[[P]]
  // CHECK:      return %[[F]]#0, %[[F]]#1, %[[F]]#3, %[[F]]#5, %[[F]]#4, %[[F]]#2
  %p = mpmd.fragment<mesh="m1", origin=[]> (%x) {mpmd.inferred_by = ["p"]} (%a: !t) {
    %0 = stablehlo.negate %a : !t
    mpmd.return %0 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%p) {mpmd.inferred_by = ["c1"]} (%a: !t) {
    %0 = stablehlo.abs %a : !t
    mpmd.return %0 : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%p) {mpmd.inferred_by = ["c2"], second} (%a: !t) {
    %0 = stablehlo.sine %a : !t
    mpmd.return %0 : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=[]> (%p) {mpmd.inferred_by = ["c3"]} (%a: !t) {
    %0 = stablehlo.tanh %a : !t
    mpmd.return %0 : !t
  } : (!m1) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=[]> (%p) {mpmd.inferred_by = ["c4"]} (%a: !t) {
    %0 = stablehlo.cosine %a : !t
    mpmd.return %0 : !t
  } : (!m1) -> !m1
  %5 = mpmd.fragment<mesh="m1", origin=[]> (%p) {mpmd.inferred_by = ["c5"]} (%a: !t) {
    %0 = stablehlo.sqrt %a : !t
    mpmd.return %0 : !t
  } : (!m1) -> !m1
  %6 = mpmd.fragment<mesh="m1", origin=[]> (%p) {mpmd.inferred_by = ["c6"]} (%a: !t) {
    %0 = stablehlo.log %a : !t
    mpmd.return %0 : !t
  } : (!m1) -> !m1
  return %1, %2, %3, %4, %5, %6 : !m1, !m1, !m1, !m1, !m1, !m1
}

// CHECK-LABEL: func private @leaves_fragments_in_loops_alone
func.func private @leaves_fragments_in_loops_alone(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.for
  // CHECK-NEXT:   mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:        mpmd.fragment<mesh="m1", origin=["f"]>
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%s: !m1, %index: tensor<ui32>) {
    %1 = mpmd.fragment<mesh="m1", origin=[]> (%s) (%a: !t) {
      mpmd.return %a : !t
    } : (!m1) -> !m1
    %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%1) (%a: !t) {
      mpmd.return %a : !t
    } : (!m1) -> !m1
    mpmd.return %2 : !m1
  } : !m1
  return %0 : !m1
}

// CHECK-LABEL: func private @leaves_function_with_one_mesh_alone
func.func private @leaves_function_with_one_mesh_alone() attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  // CHECK-NEXT: mpmd.fragment
  mpmd.fragment<mesh="m1", origin=[]> () () {
    mpmd.return
  } : () -> ()
  return
}

// CHECK-LABEL: func private @leaves_declarations_alone
func.func private @leaves_declarations_alone(!m1) -> !m1 attributes {topology = #topology}

// ENTRY-LABEL: func @keeps_entries_with_their_values
// ENTRY:         %[[F:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> ({{.*}}) {arg_attrs = [{b}, {tf.aliasing_output = 1 : i32}], res_attrs = [{}, {mhlo.memory_kind = "pinned_host"}]}
// ENTRY:         mpmd.transfer %[[F]]#0
func.func @keeps_entries_with_their_values(%x: !m1, %y: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%y) {arg_attrs = [{b}]} (%a: !t) {
    %2 = stablehlo.abs %a : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %0) {arg_attrs = [{tf.aliasing_output = 0 : i32}, {}], res_attrs = [{mhlo.memory_kind = "pinned_host"}]} (%a: !t, %b: !t) {
    %2 = stablehlo.add %a, %b : !t
    mpmd.return %2 : !t
  } : (!m1, !m1) -> !m1
  %t = mpmd.transfer %0 : (!m1) -> !m2
  return %1, %t : !m1, !m2
}
