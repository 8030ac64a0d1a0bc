// RUN: mpmd-opt %s -mpmd-split-and-prioritize-transfer-independent-computations | FileCheck %s
// RUN: mpmd-opt %s -mpmd-split-and-prioritize-transfer-independent-computations -canonicalize -mpmd-fragment-dedup -mpmd-fragment-dce | FileCheck %s --check-prefix=CLEAN

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @splits_off_what_depends_on_no_transfer
// CHECK-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"m1"{{.*}}, %[[Y:.*]]: !mpmd.mesh_tensor<"m2"
// CLEAN-LABEL: func @splits_off_what_depends_on_no_transfer
// CLEAN-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"m1"{{.*}}, %[[Y:.*]]: !mpmd.mesh_tensor<"m2"
func.func @splits_off_what_depends_on_no_transfer(%x: !m1, %y: !m2) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[Y]]
  // CHECK-NEXT: %[[E:.*]]:3 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%[[X]], %[[T]]) {call_counter = 3 : ui32, split_keep_transferred} (%[[U:.*]]: tensor<4xf32>, %[[V:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[D:.*]] = stablehlo.tanh %[[U]]
  // CHECK-NEXT:   mpmd.return %[[D]], %[[V]], %[[D]]
  // CHECK:      %[[L:.*]] = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%[[X]], %[[T]], %[[E]]#1, %[[E]]#2) {call_counter = 3 : ui32, split_drop_transferred} (%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %[[R0:.*]]: tensor<4xf32>, %[[R1:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[W:.*]] = stablehlo.multiply %[[R1]], %[[R0]]
  // CHECK-NEXT:   mpmd.return %[[W]]
  // CHECK:      return %[[E]]#0, %[[L]]
  // CLEAN:      %[[T:.*]] = mpmd.transfer %[[Y]]
  // CLEAN-NEXT: %[[E:.*]] = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%[[X]]) {
  // CLEAN:      mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%[[T]], %[[E]]) {
  %t = mpmd.transfer %y : (!m2) -> !m1
  %f:2 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x, %t) {call_counter = 3 : ui32} (%u: !l, %v: !l) {
    %d = stablehlo.tanh %u : !l
    %w = stablehlo.multiply %d, %v : !l
    mpmd.return %d, %w : !l, !l
  } : (!m1, !m1) -> (!m1, !m1)
  return %f#0, %f#1 : !m1, !m1
}

// CHECK-LABEL: func @splits_inferred_fragments_and_any_transpose_count
func.func @splits_inferred_fragments_and_any_transpose_count(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK: origin=[]>{{.*}}split_keep_transferred
  // CHECK: origin=[]>{{.*}}split_drop_transferred
  // CHECK: origin=["f"(2)]>{{.*}}split_keep_transferred
  // CHECK: origin=["f"(2)]>{{.*}}split_drop_transferred
  %t = mpmd.transfer {intra_mesh} %x : (!m1) -> !m1
  %f = mpmd.fragment<mesh="m1", origin=[]> (%t, %x) (%u: !l, %v: !l) {
    %d = stablehlo.tanh %v : !l
    %w = stablehlo.multiply %d, %u : !l
    mpmd.return %w : !l
  } : (!m1, !m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["f"(2)]> (%t, %x) (%u: !l, %v: !l) {
    %d = stablehlo.tanh %v : !l
    %w = stablehlo.multiply %d, %u : !l
    mpmd.return %w : !l
  } : (!m1, !m1) -> !m1
  return %f, %g : !m1, !m1
}

// CHECK-LABEL: func @argument_returned_as_it_came_is_late
func.func @argument_returned_as_it_came_is_late(%x: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<{{.*}}split_keep_transferred} (%{{.*}}: tensor<4xf32>, %[[V:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[D:.*]] = stablehlo.tanh %[[V]]
  // CHECK-NEXT:   mpmd.return %[[V]], %[[D]],
  // CHECK:      %[[L:.*]] = mpmd.fragment<{{.*}}split_drop_transferred}
  // CHECK:        mpmd.return %{{[a-z0-9_]+}} :
  %t = mpmd.transfer {intra_mesh} %x : (!m1) -> !m1
  %f:3 = mpmd.fragment<mesh="m1", origin=["f"]> (%t, %x) (%u: !l, %v: !l) {
    %d = stablehlo.tanh %v : !l
    %e = stablehlo.tanh %u : !l
    mpmd.return %u, %v, %d : !l, !l, !l
  } : (!m1, !m1) -> (!m1, !m1, !m1)
  return %f#0, %f#1, %f#2 : !m1, !m1, !m1
}

// The while loop captures the transferred argument, but does not read it as an
// operand; the early half has the argument.
// CHECK-LABEL: func @op_that_captures_a_transferred_argument_is_early
func.func @op_that_captures_a_transferred_argument_is_early(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK: split_keep_transferred
  // CHECK:   stablehlo.while
  // CHECK: split_drop_transferred
  // CHECK:   stablehlo.tanh
  %t = mpmd.transfer {intra_mesh} %x : (!m1) -> !m1
  %f:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%t, %x) (%u: !l, %v: !l) {
    %w = stablehlo.while(%it = %v) : !l
     cond {
      %false = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %false : tensor<i1>
    } do {
      %i = stablehlo.add %it, %u : !l
      stablehlo.return %i : !l
    }
    %d = stablehlo.tanh %u : !l
    mpmd.return %w, %d : !l, !l
  } : (!m1, !m1) -> (!m1, !m1)
  return %f#0, %f#1 : !m1, !m1
}

// Here it captures what a late op computes, and so must wait.
// CHECK-LABEL: func @op_that_captures_a_late_value_is_late
func.func @op_that_captures_a_late_value_is_late(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK: split_keep_transferred
  // CHECK:   stablehlo.abs
  // CHECK: split_drop_transferred
  // CHECK:   stablehlo.tanh
  // CHECK:   stablehlo.while
  %t = mpmd.transfer {intra_mesh} %x : (!m1) -> !m1
  %f:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%t, %x) (%u: !l, %v: !l) {
    %d = stablehlo.tanh %u : !l
    %e = stablehlo.abs %v : !l
    %w = stablehlo.while(%it = %v) : !l
     cond {
      %false = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %false : tensor<i1>
    } do {
      %i = stablehlo.add %it, %d : !l
      stablehlo.return %i : !l
    }
    mpmd.return %w, %e : !l, !l
  } : (!m1, !m1) -> (!m1, !m1)
  return %f#0, %f#1 : !m1, !m1
}

// CHECK-LABEL: func @late_half_may_have_no_results
func.func @late_half_may_have_no_results(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: split_keep_transferred
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]> {{.*}}split_drop_transferred
  // CHECK: mpmd.return{{ *$}}
  // CHECK-NEXT: } : ({{.*}}) -> ()
  %t = mpmd.transfer {intra_mesh} %x : (!m1) -> !m1
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%t, %x) (%u: !l, %v: !l) {
    %d = stablehlo.tanh %v : !l
    %e = stablehlo.tanh %u : !l
    mpmd.return %d : !l
  } : (!m1, !m1) -> !m1
  return %f : !m1
}

// CHECK-LABEL: func @acts_on_functions_without_topology_attribute_or_fragments
func.func @acts_on_functions_without_topology_attribute_or_fragments(%x: !l) -> !l {
  // CHECK-NEXT: return %arg0
  return %x : !l
}

// CHECK-LABEL: func @leaves_other_fragments_alone
func.func @leaves_other_fragments_alone(%x: !m1, %y: !m1) -> (!m1, !m1, !m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK-NOT: split
  // CHECK: origin=["half"]>{{.*}}split_drop_transferred
  // CHECK-NOT: split
  // CHECK: return
  %t = mpmd.transfer {intra_mesh} %x : (!m1) -> !m1
  %none = mpmd.fragment<mesh="m1", origin=["none"]> (%x, %y) (%u: !l, %v: !l) {
    %w = stablehlo.multiply %u, %v : !l
    mpmd.return %w : !l
  } : (!m1, !m1) -> !m1
  %all = mpmd.fragment<mesh="m1", origin=["all"]> (%t) (%u: !l) {
    %k = stablehlo.constant dense<1.0> : !l
    %w = stablehlo.multiply %u, %k : !l
    mpmd.return %w : !l
  } : (!m1) -> !m1
  %half = mpmd.fragment<mesh="m1", origin=["half"]> (%t, %x) {split_drop_transferred} (%u: !l, %v: !l) {
    %d = stablehlo.tanh %v : !l
    %w = stablehlo.multiply %d, %u : !l
    mpmd.return %w : !l
  } : (!m1, !m1) -> !m1
  %late = mpmd.fragment<mesh="m1", origin=["late"]> (%t, %x) (%u: !l, %v: !l) {
    %w = stablehlo.multiply %v, %u : !l
    mpmd.return %w : !l
  } : (!m1, !m1) -> !m1
  %early = mpmd.fragment<mesh="m1", origin=["early"]> (%t, %x) (%u: !l, %v: !l) {
    %w = stablehlo.multiply %v, %v : !l
    mpmd.return %w : !l
  } : (!m1, !m1) -> !m1
  return %none, %all, %half, %late, %early : !m1, !m1, !m1, !m1, !m1
}

// CHECK-LABEL: func @keeps_entries_with_their_results
// CHECK:         %[[K:.*]]:3 = mpmd.fragment<mesh="m1", origin=["f"]> ({{.*}}) {res_attrs = [{}], split_keep_transferred}
// CHECK:         mpmd.fragment<mesh="m1", origin=["f"]> ({{.*}}) {res_attrs = [{mhlo.memory_kind = "pinned_host"}], split_drop_transferred}
// CHECK:         mpmd.transfer %[[K]]#0
func.func @keeps_entries_with_their_results(%x: !m1, %y: !m2) -> (!m1, !m2) attributes {topology = #topology} {
  %0 = mpmd.transfer %y : (!m2) -> !m1
  %1:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %0) {res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]} (%a: !l, %b: !l) {
    %3 = stablehlo.negate %a : !l
    %4 = stablehlo.add %3, %b : !l
    mpmd.return %4, %3 : !l, !l
  } : (!m1, !m1) -> (!m1, !m1)
  %2 = mpmd.transfer %1#1 : (!m1) -> !m2
  return %1#0, %2 : !m1, !m2
}
