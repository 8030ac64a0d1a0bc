// RUN: mpmd-opt %s -mpmd-merge-user-fragments-into-scheduling-units | FileCheck %s

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// The transfer reads %g before %h, but all that %h reads is there at %g.
// CHECK-LABEL: func @merges_at_producer_if_a_transfer_is_between
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @merges_at_producer_if_a_transfer_is_between(%x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["g"(1), "h"(1)], stage=3> (%[[X]]) {call_counter = 5 : ui32} (%[[U:.*]]: tensor<4xf32>)
  // CHECK-NEXT:   %[[A:.*]] = stablehlo.abs %[[U]]
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine %[[A]]
  // CHECK-NEXT:   mpmd.return %[[A]], %[[S]]
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[M]]#0
  // CHECK-NEXT: return %[[M]]#1, %[[T]]
  %g = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=3> (%x) {remat, unroll_counter = 2 : ui32} (%u: !l) {
    %r = stablehlo.abs %u : !l
    mpmd.return %r : !l
  } : (!m1) -> !m1
  %t = mpmd.transfer %g : (!m1) -> !m2
  %h = mpmd.fragment<mesh="m1", origin=["h"(1)]> (%g) {call_counter = 5 : ui32, split_keep_transferred} (%u: !l) {
    %r = stablehlo.sine %u : !l
    mpmd.return %r : !l
  } : (!m1) -> !m1
  return %h, %t : !m1, !m2
}

// CHECK-LABEL: func @merges_at_consumer_and_goes_on
// CHECK-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"m1"{{.*}}, %[[Y:.*]]: !mpmd.mesh_tensor<"m2"
func.func @merges_at_consumer_and_goes_on(%x: !m1, %y: !m2) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[Y]]
  // CHECK-NEXT: %[[M:.*]] = mpmd.fragment<mesh="m1", origin=["f", "g", "h"]> (%[[X]], %[[T]]) {call_counter = 0 : ui32}
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   stablehlo.add
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   mpmd.return
  // CHECK:      return %[[M]]
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    %r = stablehlo.abs %u : !l
    mpmd.return %r : !l
  } : (!m1) -> !m1
  %t = mpmd.transfer %y : (!m2) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"]> (%f, %t) (%u: !l, %v: !l) {
    %r = stablehlo.add %u, %v : !l
    mpmd.return %r : !l
  } : (!m1, !m1) -> !m1
  %h = mpmd.fragment<mesh="m1", origin=["h"]> (%g) {call_counter = 0 : ui32} (%u: !l) {
    %r = stablehlo.sine %u : !l
    mpmd.return %r : !l
  } : (!m1) -> !m1
  return %h : !m1
}

// CHECK-LABEL: func @merges_any_equal_transpose_count
func.func @merges_any_equal_transpose_count(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"(3), "g"(3)]>
  // CHECK-NOT: mpmd.fragment
  // CHECK: return
  %f = mpmd.fragment<mesh="m1", origin=["f"(3)]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"(3)]> (%f) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %g : !m1
}

// CHECK-LABEL: func @keeps_transpose_counts_apart
func.func @keeps_transpose_counts_apart(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"(1)]>
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%f) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %g : !m1
}

// CHECK-LABEL: func @keeps_call_counters_apart
func.func @keeps_call_counters_apart(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]> {{.*}} {call_counter = 0 : ui32}
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]> {{.*}} {call_counter = 1 : ui32}
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["f"]> (%f) {call_counter = 1 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %g : !m1
}

// CHECK-LABEL: func @keeps_stages_apart
func.func @keeps_stages_apart(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"], stage=1>
  // CHECK: mpmd.fragment<mesh="m1", origin=["g"], stage=2>
  %f = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"], stage=2> (%f) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %g : !m1
}

// The inferred fragment is the nearest consumer, and refused; %g is not tried.
// CHECK-LABEL: func @stops_at_a_nearest_consumer_that_is_refused
func.func @stops_at_a_nearest_consumer_that_is_refused(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK: mpmd.fragment<mesh="m1", origin=["g"]>
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %i = mpmd.fragment<mesh="m1", origin=[]> (%f) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"]> (%f) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %g, %i : !m1, !m1
}

// CHECK-LABEL: func @keeps_fragments_apart_if_a_round_trip_is_between
func.func @keeps_fragments_apart_if_a_round_trip_is_between(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK: mpmd.transfer
  // CHECK: mpmd.transfer
  // CHECK: mpmd.fragment<mesh="m1", origin=["g"]>
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %t = mpmd.transfer %f : (!m1) -> !m2
  %s = mpmd.transfer %t : (!m2) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"]> (%f, %s) (%u: !l, %v: !l) {
    %r = stablehlo.add %u, %v : !l
    mpmd.return %r : !l
  } : (!m1, !m1) -> !m1
  return %g : !m1
}

// CHECK-LABEL: func @keeps_fragments_without_dataflow_apart
func.func @keeps_fragments_without_dataflow_apart(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK: mpmd.fragment<mesh="m1", origin=["g"]>
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %f, %g : !m1, !m1
}

// CHECK-LABEL: func @erases_unused_pure_fragments
func.func @erases_unused_pure_fragments(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["h"]>
  // CHECK:      return
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %h = mpmd.fragment<mesh="m1", origin=["h"]> (%x) (%u: !l) {
    %r = stablehlo.custom_call @ping(%u) {has_side_effect = true} : (!l) -> !l
    mpmd.return %r : !l
  } : (!m1) -> !m1
  return %x : !m1
}

// CHECK-LABEL: func @takes_stage_and_counter_from_either
func.func @takes_stage_and_counter_from_either(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f", "g"], stage=2> (%{{.*}}) {call_counter = 1 : ui32} (
  // CHECK-NOT:  mpmd.fragment
  // CHECK:      return
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 1 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"], stage=2> (%f) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %g : !m1
}

// CHECK-LABEL: func @leaves_inferred_fragments_alone
func.func @leaves_inferred_fragments_alone(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK: mpmd.fragment<mesh="m1", origin=[]>
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK: mpmd.fragment<mesh="m1", origin=[]>
  %i = mpmd.fragment<mesh="m1", origin=[]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %j = mpmd.fragment<mesh="m1", origin=[]> (%i) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%j) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %k = mpmd.fragment<mesh="m1", origin=[]> (%f) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %k : !m1
}

// What %f gives to others comes before the results of %g; operands are unique.
// CHECK-LABEL: func private @orders_operands_and_results
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func private @orders_operands_and_results(%x: !m1, %y: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:3 = mpmd.fragment<mesh="m1", origin=["f", "h", "g"]> (%[[X]], %[[Y]]) (%[[U:.*]]: tensor<4xf32>, %[[V:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[A:.*]] = stablehlo.abs %[[U]]
  // CHECK-NEXT:   %[[B:.*]] = stablehlo.sine %[[U]]
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.add %[[V]], %[[A]]
  // CHECK-NEXT:   mpmd.return %[[B]], %[[C]], %[[U]]
  // CHECK:      return %[[M]]#0, %[[M]]#1
  %f:3 = mpmd.fragment<mesh="m1", origin=["f", "h"]> (%x, %x) (%u: !l, %v: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %v : !l
    mpmd.return %a, %b, %u : !l, !l, !l
  } : (!m1, !m1) -> (!m1, !m1, !m1)
  %g:2 = mpmd.fragment<mesh="m1", origin=["g", "h"]> (%y, %f#0, %x) (%u: !l, %v: !l, %w: !l) {
    %a = stablehlo.add %u, %v : !l
    mpmd.return %a, %w : !l, !l
  } : (!m1, !m1, !m1) -> (!m1, !m1)
  return %f#1, %g#0 : !m1, !m1
}

// Consumers first, so the whole chain goes.
// CHECK-LABEL: func @erases_unused_chains
func.func @erases_unused_chains(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: return
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%f) {call_counter = 1 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %x : !m1
}

// CHECK-LABEL: func @acts_on_functions_of_one_mesh
func.func @acts_on_functions_of_one_mesh() attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  // CHECK-NEXT: return
  mpmd.fragment<mesh="m1", origin=["f"]> () () { mpmd.return } : () -> ()
  return
}

// CHECK-LABEL: func @leaves_other_functions_alone
func.func @leaves_other_functions_alone() {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  mpmd.fragment<mesh="m1", origin=["f"]> () () { mpmd.return } : () -> ()
  return
}
