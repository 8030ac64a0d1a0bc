// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// Operands are unique, those of the producer first. Result 1 is read by the
// consumer only and goes, result 2 is unused and goes, result 0 is shared and
// comes before all results of the consumer.
// CHECK-LABEL: func @unites_operands_and_puts_shared_results_first
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd{{.*}}, %[[Z:.*]]: !mpmd
func.func @unites_operands_and_puts_shared_results_first(%x: !m1, %y: !m1, %z: !m1)
    -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:3 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[Y]], %[[Z]]) (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.subtract %[[A]], %[[B]]
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.maximum %[[S]], %[[A]]
  // CHECK-NEXT:   %[[U:.*]] = stablehlo.power %[[C]], %[[T]]
  // CHECK-NEXT:   %[[V:.*]] = stablehlo.divide %[[U]], %[[B]]
  // CHECK-NEXT:   mpmd.return %[[S]], %[[V]], %[[U]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[M]]#0, %[[M]]#1, %[[M]]#1
  %0:3 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %y, %x) (%a: !t, %b: !t, %c: !t) {
    %2 = stablehlo.subtract %a, %b : !t
    %3 = stablehlo.maximum %2, %c : !t
    mpmd.return %2, %3, %b : !t, !t, !t
  } : (!m1, !m1, !m1) -> (!m1, !m1, !m1)
  %1:2 = mpmd.fragment<mesh="m1", origin=[]> (%z, %0#1, %y) (%a: !t, %b: !t, %c: !t) {
    %2 = stablehlo.power %a, %b : !t
    %3 = stablehlo.divide %2, %c : !t
    mpmd.return %3, %2 : !t, !t
  } : (!m1, !m1, !m1) -> (!m1, !m1)
  return %0#0, %1#0, %1#0 : !m1, !m1, !m1
}

// CHECK-LABEL: func @keeps_operand_list_of_consumer_that_reads_the_only_result_once
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @keeps_operand_list_of_consumer_that_reads_the_only_result_once(%x: !m1, %y: !m1)
    -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]] = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=7> (%[[Y]], %[[X]], %[[X]]) {call_counter = 4 : ui32} (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine %[[B]]
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.clamp %[[A]], %[[S]], %[[C]]
  // CHECK-NEXT:   mpmd.return %[[T]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[M]]
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {call_counter = 4 : ui32} (%a: !t) {
    %2 = stablehlo.sine %a : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=7> (%y, %0, %x) (%a: !t, %b: !t, %c: !t) {
    %2 = stablehlo.clamp %a, %b, %c : !t
    mpmd.return %2 : !t
  } : (!m1, !m1, !m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @unites_operands_if_the_only_result_is_read_twice
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @unites_operands_if_the_only_result_is_read_twice(%x: !m1, %y: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[Y]]) (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine %[[A]]
  // CHECK-NEXT:   stablehlo.clamp %[[B]], %[[S]], %[[S]]
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %2 = stablehlo.sine %a : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%y, %0, %0) (%a: !t, %b: !t, %c: !t) {
    %2 = stablehlo.clamp %a, %b, %c : !t
    mpmd.return %2 : !t
  } : (!m1, !m1, !m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @unites_operands_if_the_only_result_is_also_returned
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @unites_operands_if_the_only_result_is_also_returned(%x: !m1, %y: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[Y]])
  // CHECK:        mpmd.return %[[S:.*]], %[[T:.*]] :
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[M]]#1, %[[M]]#0
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %2 = stablehlo.sine %a : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%y, %0) (%a: !t, %b: !t) {
    %2 = stablehlo.add %a, %b : !t
    mpmd.return %2 : !t
  } : (!m1, !m1) -> !m1
  return %1, %0 : !m1, !m1
}

// CHECK-LABEL: func @unites_operands_if_producer_has_none
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @unites_operands_if_producer_has_none(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]]) (%[[A:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.constant
  // CHECK-NEXT:   stablehlo.clamp %[[A]], %[[C]], %[[A]]
  %0 = mpmd.fragment<mesh="m1", origin=[]> () () {
    %2 = stablehlo.constant dense<1.0> : !t
    mpmd.return %2 : !t
  } : () -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %0, %x) (%a: !t, %b: !t, %c: !t) {
    %2 = stablehlo.clamp %a, %b, %c : !t
    mpmd.return %2 : !t
  } : (!m1, !m1, !m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @forwards_argument_that_producer_returns
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @forwards_argument_that_producer_returns(%x: !m1, %y: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[Y]]) (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %[[B]], %[[A]]
  // CHECK-NEXT:   mpmd.return %[[S]]
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x, %y) (%a: !t, %b: !t) {
    mpmd.return %b, %a : !t, !t
  } : (!m1, !m1) -> (!m1, !m1)
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0#0, %0#1) (%a: !t, %b: !t) {
    %2 = stablehlo.add %a, %b : !t
    mpmd.return %2 : !t
  } : (!m1, !m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @leaves_dead_ops_and_duplicate_constants_where_they_are
func.func @leaves_dead_ops_and_duplicate_constants_where_they_are(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   stablehlo.constant
  // CHECK-NEXT:   stablehlo.add
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   stablehlo.constant
  // CHECK-NEXT:   stablehlo.add
  // CHECK-NEXT:   mpmd.return
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %2 = stablehlo.abs %a : !t
    %3 = stablehlo.constant dense<1.0> : !t
    %4 = stablehlo.add %a, %3 : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    %2 = stablehlo.sine %a : !t
    %3 = stablehlo.constant dense<1.0> : !t
    %4 = stablehlo.add %a, %3 : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @keeps_stage_of_consumer_and_drops_other_attributes
func.func @keeps_stage_of_consumer_and_drops_other_attributes(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"], stage=2> (%{{[^)]*}}) (%{{[^)]*}}) {
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {mpmd.inferred_by = ["p"], remat, split_drop_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"], stage=2> (%0) {hint = 1 : i32, split_keep_transferred, arg_attrs = [{}], res_attrs = [{}]} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @drops_shardings_of_arguments_and_results
func.func @drops_shardings_of_arguments_and_results(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%
  %0 = mpmd.fragment<mesh="m1", origin=[], in_shardings=[<@mesh, [{"x"}]>]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"], out_shardings=[<@mesh, [{"x"}]>]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @lists_who_inferred_the_producer_first
func.func @lists_who_inferred_the_producer_first(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {mpmd.inferred_by = ["p", "q", "r"]} (%
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {mpmd.inferred_by = ["p", "q"]} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) {mpmd.inferred_by = ["r", "p"]} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @keeps_who_inferred_the_consumer_if_nothing_says_so_of_the_producer
func.func @keeps_who_inferred_the_consumer_if_nothing_says_so_of_the_producer(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {mpmd.inferred_by = ["r"]} (%
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) {mpmd.inferred_by = ["r"]} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @takes_call_counter_of_user_fragment_if_two_differ
func.func @takes_call_counter_of_user_fragment_if_two_differ(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%{{.*}}) {call_counter = 1 : ui32} (%
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) {call_counter = 2 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @drops_call_counters_of_inferred_fragments_that_differ
func.func @drops_call_counters_of_inferred_fragments_that_differ(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%{{[^)]*}}) (%
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) {call_counter = 2 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @merges_at_consumer_if_nothing_before_it_uses_producer
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @merges_at_consumer_if_nothing_before_it_uses_producer(%x: !m1, %y: !m2) -> (!m1, !m2)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m2", origin=["g"]> (%[[Y]])
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m2", origin=["g"]> (%y) (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %2, %1 : !m1, !m2
}

// CHECK-LABEL: func @merges_at_producer_if_an_unused_transfer_reads_it_before
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @merges_at_producer_if_an_unused_transfer_reads_it_before(%x: !m1, %y: !m2) -> (!m1, !m2)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  // CHECK:      mpmd.fragment<mesh="m2", origin=["g"]> (%[[Y]])
  // CHECK:      mpmd.transfer %[[M]]#0
  // CHECK-NEXT: return %[[M]]#1
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m2", origin=["g"]> (%y) (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %2 = mpmd.transfer %0 : (!m1) -> !m2
  %3 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %3, %1 : !m1, !m2
}

// CHECK-LABEL: func @leaves_pair_with_a_round_trip_in_between_alone
func.func @leaves_pair_with_a_round_trip_in_between_alone(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[P:.*]] = mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.transfer %[[P]]
  // CHECK-NEXT: mpmd.transfer
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%[[P]],
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.transfer %1 : (!m2) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["f"]> (%0, %2) (%a: !t, %b: !t) {
    mpmd.return %a : !t
  } : (!m1, !m1) -> !m1
  return %3 : !m1
}

// CHECK-LABEL: func @stops_at_first_consumer_that_is_refused
func.func @stops_at_first_consumer_that_is_refused(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=[]>
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1, %2 : !m1, !m1
}

// CHECK-LABEL: func @keeps_halves_of_a_split_apart
func.func @keeps_halves_of_a_split_apart(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {split_keep_transferred}
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"(1)]> (%{{.*}}) {split_drop_transferred}
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {split_keep_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%0) {split_drop_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// The half that drops merges with its consumer and is no half any more.
// CHECK-LABEL: func @merges_half_of_a_split_with_what_the_other_half_was_merged_into
func.func @merges_half_of_a_split_with_what_the_other_half_was_merged_into(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%{{[^)]*}}) (%
  // CHECK-NOT:  mpmd.fragment
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {split_keep_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) {split_drop_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%1) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @merges_one_consumer_after_the_other
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @merges_one_consumer_after_the_other(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]]) (%[[A:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine %[[A]]
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.cosine %[[S]]
  // CHECK-NEXT:   %[[U:.*]] = stablehlo.abs %[[S]]
  // CHECK-NEXT:   mpmd.return %[[T]], %[[U]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[M]]#0, %[[M]]#1
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %3 = stablehlo.sine %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    %3 = stablehlo.cosine %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    %3 = stablehlo.abs %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  return %1, %2 : !m1, !m1
}

// CHECK-LABEL: func @gives_shared_inferred_fragment_to_closest_consumer
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @gives_shared_inferred_fragment_to_closest_consumer(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  // CHECK:      %[[N:.*]] = mpmd.fragment<mesh="m1", origin=["g"]> (%[[M]]#0)
  // CHECK:      return %[[M]]#1, %[[N]]
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %3 = stablehlo.sine %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1, %2 : !m1, !m1
}

// CHECK-LABEL: func @erases_chain_of_unused_pure_fragments
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @erases_chain_of_unused_pure_fragments(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: return %[[X]]
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %x : !m1
}

// A custom call is never pure. An unused transfer keeps its producer alive.
// CHECK-LABEL: func @keeps_unused_fragment_with_custom_call_and_unused_transfer
func.func @keeps_unused_fragment_with_custom_call_and_unused_transfer(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"]>
  // CHECK:      mpmd.transfer
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %3 = stablehlo.custom_call @h(%a) : (!t) -> !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.transfer %1 : (!m1) -> !m2
  return %x : !m1
}

// CHECK-LABEL: func private @acts_on_callees_with_one_mesh_too
func.func private @acts_on_callees_with_one_mesh_too(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NOT:  mpmd.fragment
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// The first fragment has no user fragment that is in the function itself.
// CHECK-LABEL: func @leaves_fragments_in_loops_alone
func.func @leaves_fragments_in_loops_alone(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[P:.*]] = mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.for
  // CHECK-NEXT:   mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:        mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"]> (%[[P]],
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.for (%x) {iterations = 2 : ui32} (%s: !m1, %index: tensor<ui32>) {
    %3 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
      mpmd.return %a : !t
    } : (!m1) -> !m1
    %4 = mpmd.fragment<mesh="m1", origin=["f"]> (%3) (%a: !t) {
      mpmd.return %a : !t
    } : (!m1) -> !m1
    mpmd.return %4 : !m1
  } : !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%0, %1) (%a: !t, %b: !t) {
    mpmd.return %a : !t
  } : (!m1, !m1) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @leaves_fragments_connected_by_a_token_across_meshes_alone
func.func @leaves_fragments_connected_by_a_token_across_meshes_alone(%x: !m1, %y: !m2) -> (!m1, !m2)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.fragment<mesh="m2", origin=["f"]>
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %2 = stablehlo.create_token : !stablehlo.token
    mpmd.return %a, %2 : !t, !stablehlo.token
  } : (!m1) -> (!m1, !stablehlo.token)
  %1 = mpmd.fragment<mesh="m2", origin=["f"]> (%y, %0#1) (%a: !t, %b: !stablehlo.token) {
    mpmd.return %a : !t
  } : (!m2, !stablehlo.token) -> !m2
  return %0#0, %1 : !m1, !m2
}

// CHECK-LABEL: func @keeps_stage_of_producer
func.func @keeps_stage_of_producer(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"], stage=3> (%
  %0 = mpmd.fragment<mesh="m1", origin=["f"], stage=3> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @keeps_unused_and_equal_results_of_consumer
func.func @keeps_unused_and_equal_results_of_consumer(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:4 = mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.abs %[[S]]
  // CHECK-NEXT:   mpmd.return %[[S]], %[[T]], %[[S]], %[[T]]
  // CHECK:      return %[[M]]#0, %[[M]]#3
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %2 = stablehlo.sine %a : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  %1:3 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    %2 = stablehlo.abs %a : !t
    mpmd.return %2, %a, %2 : !t, !t, !t
  } : (!m1) -> (!m1, !m1, !m1)
  return %0, %1#2 : !m1, !m1
}

// The first pair from the end keeps repeated operands; then the producer has two
// results, so operands become unique.
// CHECK-LABEL: func @decides_at_each_merge_how_operands_unite
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @decides_at_each_merge_how_operands_unite(%x: !m1, %y: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[Y]]) (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine %[[A]]
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.cosine %[[B]]
  // CHECK-NEXT:   stablehlo.clamp %[[S]], %[[C]], %[[B]]
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %3 = stablehlo.sine %a : !t
    mpmd.return %3, %a : !t, !t
  } : (!m1) -> (!m1, !m1)
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%y) (%a: !t) {
    %3 = stablehlo.cosine %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%0#0, %1, %y) (%a: !t, %b: !t, %c: !t) {
    %3 = stablehlo.clamp %a, %b, %c : !t
    mpmd.return %3 : !t
  } : (!m1, !m1, !m1) -> !m1
  return %2 : !m1
}

// What the transfer reads is merged in front of it; all that the consumer needs
// is there already.
// CHECK-LABEL: func @merges_at_producer_if_the_consumer_reads_what_came_before
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @merges_at_producer_if_the_consumer_reads_what_came_before(%x: !m1, %y: !m2) -> (!m2, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[Z:.*]] = mpmd.transfer %[[Y]]
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[Z]])
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[M]]#0
  // CHECK-NEXT: return %[[T]], %[[M]]#1
  %0 = mpmd.transfer %y : (!m2) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.transfer %1 : (!m1) -> !m2
  %3 = mpmd.fragment<mesh="m1", origin=[]> (%1, %0) (%a: !t, %b: !t) {
    %4 = stablehlo.add %a, %b : !t
    mpmd.return %4 : !t
  } : (!m1, !m1) -> !m1
  return %2, %3 : !m2, !m1
}

// CHECK-LABEL: func @leaves_pair_if_the_consumer_reads_what_comes_later
func.func @leaves_pair_if_the_consumer_reads_what_comes_later(%x: !m1, %y: !m2) -> (!m2, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.transfer %[[F]]
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%[[F]], %[[T]])
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.transfer %y : (!m2) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=[]> (%0, %2) (%a: !t, %b: !t) {
    %4 = stablehlo.add %a, %b : !t
    mpmd.return %4 : !t
  } : (!m1, !m1) -> !m1
  return %1, %3 : !m2, !m1
}

// The marks keep apart in one order only.
// CHECK-LABEL: func @merges_half_that_drops_with_half_that_keeps
func.func @merges_half_that_drops_with_half_that_keeps(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"(1)]> (%{{[^)]*}}) (%
  // CHECK-NOT:  mpmd.fragment
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) {split_drop_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%0) {split_keep_transferred} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @leaves_unused_results_and_operands_of_a_lone_fragment
func.func @leaves_unused_results_and_operands_of_a_lone_fragment(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=[]> (%[[X:.*]], %[[X]])
  // CHECK:      return %[[M]]#0
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x, %x) (%a: !t, %b: !t) {
    mpmd.return %a, %a : !t, !t
  } : (!m1, !m1) -> (!m1, !m1)
  return %0#0 : !m1
}

// CHECK-LABEL: func @erases_unused_fragment_of_a_function_with_one_mesh
func.func @erases_unused_fragment_of_a_function_with_one_mesh()
    attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  // CHECK-NEXT: return
  mpmd.fragment<mesh="m1", origin=[]> () () {
    mpmd.return
  } : () -> ()
  return
}

// CHECK-LABEL: func @leaves_function_without_mesh_alone
func.func @leaves_function_without_mesh_alone() {
  // CHECK-NEXT: mpmd.fragment
  mpmd.fragment<mesh="m1", origin=[]> () () {
    mpmd.return
  } : () -> ()
  return
}

// CHECK-LABEL: func @leaves_other_blocks_alone
// CHECK-NEXT:    mpmd.fragment<mesh="m1", origin=[]>
// CHECK:         cf.cond_br
// CHECK:         mpmd.fragment<mesh="m1", origin=["g"]>
// CHECK:         mpmd.fragment<mesh="m1", origin=["h"]>
func.func @leaves_other_blocks_alone(%p: i1, %x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %1 = stablehlo.abs %a : !t
    mpmd.return %1 : !t
  } : (!m1) -> !m1
  cf.cond_br %p, ^bb1, ^bb2
^bb1:
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %2 : !m1
^bb2:
  %3 = mpmd.fragment<mesh="m1", origin=["h"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %3 : !m1
}

// CHECK-LABEL: func @leaves_a_circle_that_is_never_reached
// CHECK-COUNT-2: mpmd.fragment
func.func @leaves_a_circle_that_is_never_reached(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
^bb1:
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%1) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1 : !m1
}
