// RUN: mpmd-opt %s -mpmd-split-bwd-fragments | FileCheck %s
// RUN: mpmd-opt %s -mpmd-split-bwd-fragments -mpmd-fragment-dedup -mpmd-fragment-dce -canonicalize -mpmd-fragment-dce | FileCheck %s --check-prefix=CLEAN
// RUN: mpmd-opt %s -mpmd-split-bwd-fragments -mpmd-split-bwd-fragments | FileCheck %s

!l = tensor<4x4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
!m1_x = !mpmd.mesh_tensor<"m1", tensor<4x4xf32>, sharding=<@mesh, [{"x"}, {}]>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// The late value multiply(%d, %v) takes its last operand first. After clean-up
// the operands of the late half have that order.
// CHECK-LABEL: func @orders_residuals_as_a_stack_pops_them
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
// CLEAN-LABEL: func @orders_residuals_as_a_stack_pops_them
// CLEAN-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @orders_residuals_as_a_stack_pops_them(%x: !m1, %y: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[K:.*]]:3 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%[[X]], %[[Y]]) {call_counter = 2 : ui32, split_keep_transferred} (%[[U:.*]]: tensor<4x4xf32>, %[[V:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[D:.*]] = stablehlo.tanh %[[U]]
  // CHECK-NEXT:   mpmd.return %[[D]], %[[V]], %[[D]] :
  // CHECK-NEXT: } : ({{.*}}) -> (!mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>)
  // CHECK-NEXT: %[[L:.*]] = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%[[X]], %[[Y]], %[[K]]#1, %[[K]]#2) {call_counter = 2 : ui32, split_drop_transferred}
  // CHECK-SAME:   (%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4x4xf32>, %[[R0:.*]]: tensor<4x4xf32>, %[[R1:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[W:.*]] = stablehlo.multiply %[[R1]], %[[R0]]
  // CHECK-NEXT:   mpmd.return %[[W]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[K]]#0
  // CHECK-NEXT: return %[[L]], %[[T]]
  // CLEAN-NEXT: %[[K:.*]] = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%[[X]]) {{{.*}}split_keep_transferred}
  // CLEAN:      mpmd.fragment<mesh="m1", origin=["l"(1)]> (%[[Y]], %[[K]]) {{{.*}}split_drop_transferred}
  // CLEAN:      mpmd.transfer %[[K]]
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x, %y) {call_counter = 2 : ui32} (%u: !l, %v: !l) {
    %d = stablehlo.tanh %u : !l
    %w = stablehlo.multiply %d, %v : !l
    mpmd.return %w, %d : !l, !l
  } : (!m1, !m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %t : !m1, !m2
}

// CHECK-LABEL: func @captured_residuals_come_before_operands
func.func @captured_residuals_come_before_operands(%x: !m1, %y: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<{{.*}}split_keep_transferred} (%[[U:.*]]: tensor<4x4xf32>, %[[V:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[A:.*]] = stablehlo.abs %[[U]]
  // CHECK-NEXT:   %[[B:.*]] = stablehlo.add %[[A]], %[[A]]
  // CHECK-NEXT:   mpmd.return %[[B]], %[[V]], %[[B]], %[[A]]
  // CHECK:      split_drop_transferred
  // CHECK:        stablehlo.while
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x, %y) (%u: !l, %v: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.add %a, %a : !l
    %w = stablehlo.while(%it = %a) : !l
     cond {
      %false = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %false : tensor<i1>
    } do {
      %i = stablehlo.add %it, %b : !l
      %j = stablehlo.add %i, %v : !l
      stablehlo.return %j : !l
    }
    mpmd.return %w, %b : !l, !l
  } : (!m1, !m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %t : !m1, !m2
}

// Several late results, an unused one among them, and several transferred ones;
// types of results are kept, residuals are replicated.
// CHECK-LABEL: func @keeps_result_types_and_order
func.func @keeps_result_types_and_order(%x: !m1_x) -> (!m1_x, !m2, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[K:.*]]:3 = mpmd.fragment<mesh="m1", origin=["a"(1), "b"(1)], stage=4> {{.*}} {split_keep_transferred}
  // CHECK:        mpmd.return %[[A:.*]], %[[B:.*]], %[[B]]
  // CHECK-NEXT: } : ({{.*}}) -> (!mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>, sharding=<@mesh, [{"x"}, {}]>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>)
  // CHECK-NEXT: %[[L:.*]]:2 = mpmd.fragment<mesh="m1", origin=["a"(1), "b"(1)], stage=4> {{.*}} {split_drop_transferred}
  // CHECK:      } : ({{.*}}) -> (!mpmd.mesh_tensor<"m1", tensor<4x4xf32>, sharding=<@mesh, [{"x"}, {}]>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>)
  // CHECK-NEXT: %[[T1:.*]] = mpmd.transfer %[[K]]#0
  // CHECK-NEXT: %[[T2:.*]] = mpmd.transfer %[[K]]#1
  // CHECK-NEXT: return %[[L]]#0, %[[T1]], %[[T2]]
  %f:4 = mpmd.fragment<mesh="m1", origin=["a"(1), "b"(1)], stage=4> (%x) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %a : !l
    %c = stablehlo.cosine %b : !l
    %d = stablehlo.tanh %c : !l
    mpmd.return %c, %a, %d, %b : !l, !l, !l, !l
  } : (!m1_x) -> (!m1_x, !m1, !m1, !m1_x)
  %t1 = mpmd.transfer %f#1 : (!m1) -> !m2
  %t2 = mpmd.transfer %f#3 : (!m1_x) -> !m2
  return %f#0, %t1, %t2 : !m1_x, !m2, !m2
}

// CHECK-LABEL: func @side_effects_go_to_the_late_half_with_what_they_read
func.func @side_effects_go_to_the_late_half_with_what_they_read(%x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<{{.*}}split_keep_transferred} (%[[U:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[A:.*]] = stablehlo.abs %[[U]]
  // CHECK-NEXT:   mpmd.return %[[A]], %[[U]], %[[A]]
  // CHECK:      mpmd.fragment<{{.*}}split_drop_transferred} (%{{.*}}: tensor<4x4xf32>, %[[R0:.*]]: tensor<4x4xf32>, %[[R1:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   stablehlo.custom_call @ping(%[[R1]])
  // CHECK-NEXT:   %[[B:.*]] = stablehlo.sine %[[R0]]
  // CHECK-NEXT:   mpmd.return %[[B]]
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %p = stablehlo.custom_call @ping(%a) {has_side_effect = true} : (!l) -> !l
    %b = stablehlo.sine %u : !l
    mpmd.return %b, %a : !l, !l
  } : (!m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %t : !m1, !m2
}

// CHECK-LABEL: func @counts_intra_mesh_transfers
func.func @counts_intra_mesh_transfers(%x: !m1) -> (!m1, !m1_x) attributes {topology = #topology} {
  // CHECK: split_keep_transferred
  // CHECK: split_drop_transferred
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %u : !l
    mpmd.return %b, %a : !l, !l
  } : (!m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m1_x
  return %f#0, %t : !m1, !m1_x
}

// CHECK-LABEL: func @acts_without_looking_at_other_users
func.func @acts_without_looking_at_other_users(%x: !m1) -> (!m1, !m1, !m2) attributes {topology = #topology} {
  // CHECK: %[[K:.*]]:2 = mpmd.fragment{{.*}}split_keep_transferred
  // CHECK: %[[L:.*]] = mpmd.fragment{{.*}}split_drop_transferred
  // CHECK: return %[[L]], %[[K]]#0
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %u : !l
    mpmd.return %b, %a : !l, !l
  } : (!m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %f#1, %t : !m1, !m1, !m2
}

// CHECK-LABEL: func @leaves_fragment_alone_that_is_all_early_and_as_long_as_the_function
func.func @leaves_fragment_alone_that_is_all_early_and_as_long_as_the_function(%x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NOT: split
  // CHECK: return
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %a : !l
    mpmd.return %a, %b : !l, !l
  } : (!m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %t : !m1, !m2
}

// The block of the function has as many ops as would be early, plus one.
// CHECK-LABEL: func @splits_whatever_the_size_of_the_function
func.func @splits_whatever_the_size_of_the_function(%x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK: split_keep_transferred
  // CHECK: split_drop_transferred
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %a : !l
    %c = stablehlo.cosine %a : !l
    mpmd.return %c, %b : !l, !l
  } : (!m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %t : !m1, !m2
}

// The other call adds to a gradient in its late half; this one has nothing to
// add, but the same order of results.
// CHECK-LABEL: func @early_halves_of_all_calls_are_alike
// CLEAN-LABEL: func @early_halves_of_all_calls_are_alike
func.func @early_halves_of_all_calls_are_alike(%x: !m1) -> (!m1, !m2, !m2) attributes {topology = #topology} {
  // CHECK: mpmd.fragment<{{.*}}split_keep_transferred
  // CHECK: mpmd.return %{{.*}}, %{{.*}}, %{{.*}}
  // CHECK: split_drop_transferred
  // CLEAN: mpmd.fragment<{{.*}}call_counter = 0
  // CLEAN-NEXT: %[[A:.*]] = stablehlo.abs
  // CLEAN-NEXT: %[[B:.*]] = stablehlo.sine
  // CLEAN-NEXT: mpmd.return %[[B]], %[[A]]
  // CLEAN-NOT: split_drop_transferred
  // CLEAN: mpmd.fragment<{{.*}}call_counter = 1
  // CLEAN-NEXT: %[[A:.*]] = stablehlo.abs
  // CLEAN-NEXT: %[[B:.*]] = stablehlo.sine
  // CLEAN-NEXT: mpmd.return %[[B]], %[[A]]
  // CLEAN: split_drop_transferred
  // CLEAN-NEXT: stablehlo.add
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %a : !l
    mpmd.return %a, %b : !l, !l
  } : (!m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  %g:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x, %f#0) {call_counter = 1 : ui32} (%u: !l, %v: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %a : !l
    %c = stablehlo.add %a, %v : !l
    mpmd.return %c, %b : !l, !l
  } : (!m1, !m1) -> (!m1, !m1)
  %s = mpmd.transfer %g#1 : (!m1) -> !m2
  return %g#0, %t, %s : !m1, !m2, !m2
}

// CHECK-LABEL: func @leaves_other_fragments_alone
func.func @leaves_other_fragments_alone(%x: !m1) -> (!m2, !m2, !m2, !m2, !m2) attributes {topology = #topology} {
  // CHECK-NOT: split_drop_transferred
  // CHECK:     origin=["bwd"(1)]{{.*}}split_keep_transferred
  // CHECK-NOT: split
  // CHECK:     return
  %fwd:2 = mpmd.fragment<mesh="m1", origin=["fwd"]> (%x) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %u : !l
    mpmd.return %a, %b : !l, !l
  } : (!m1) -> (!m1, !m1)
  %inferred:2 = mpmd.fragment<mesh="m1", origin=[]> (%fwd#0) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %u : !l
    mpmd.return %a, %b : !l, !l
  } : (!m1) -> (!m1, !m1)
  %mixed:2 = mpmd.fragment<mesh="m1", origin=["f", "g"(1)]> (%inferred#0) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %u : !l
    mpmd.return %a, %b : !l, !l
  } : (!m1) -> (!m1, !m1)
  %second:2 = mpmd.fragment<mesh="m1", origin=["f"(2)]> (%mixed#0) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %u : !l
    mpmd.return %a, %b : !l, !l
  } : (!m1) -> (!m1, !m1)
  %bwd:2 = mpmd.fragment<mesh="m1", origin=["bwd"(1)]> (%second#0) {split_keep_transferred} (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %u : !l
    mpmd.return %a, %b : !l, !l
  } : (!m1) -> (!m1, !m1)
  // All transferred, and none transferred.
  %all = mpmd.fragment<mesh="m1", origin=["all"(1)]> (%bwd#0) (%u: !l) {
    %a = stablehlo.abs %u : !l
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %none:2 = mpmd.fragment<mesh="m1", origin=["none"(1)]> (%x) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %u : !l
    mpmd.return %a, %b : !l, !l
  } : (!m1) -> (!m1, !m1)
  %0 = mpmd.transfer %fwd#1 : (!m1) -> !m2
  %1 = mpmd.transfer %inferred#1 : (!m1) -> !m2
  %2 = mpmd.transfer %mixed#1 : (!m1) -> !m2
  %3 = mpmd.transfer %second#1 : (!m1) -> !m2
  %4 = mpmd.transfer %bwd#1 : (!m1) -> !m2
  %5 = mpmd.transfer %all : (!m1) -> !m2
  return %0, %1, %2, %3, %4 : !m2, !m2, !m2, !m2, !m2
}

// A value that is both operand and captured has the place of the operand, and
// one that several late ops read is one residual. The late results are explored
// from the last one on.
// CHECK-LABEL: func @lists_each_residual_once
func.func @lists_each_residual_once(%x: !m1, %y: !m1) -> (!m1, !m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[K:.*]]:4 = mpmd.fragment<{{.*}}split_keep_transferred} (%[[U:.*]]: tensor<4x4xf32>, %[[V:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[A:.*]] = stablehlo.abs %[[U]]
  // CHECK-NEXT:   %[[B:.*]] = stablehlo.add %[[A]], %[[A]]
  // CHECK-NEXT:   mpmd.return %[[B]], %[[A]], %[[B]], %[[V]]
  // CHECK:      mpmd.fragment<{{.*}}split_drop_transferred} (%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4x4xf32>, %[[RA:.*]]: tensor<4x4xf32>, %[[RB:.*]]: tensor<4x4xf32>, %[[RV:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[W:.*]] = stablehlo.while(%{{.*}} = %[[RB]], %{{.*}} = %[[RV]])
  // CHECK:          stablehlo.add %{{.*}}, %[[RB]]
  // CHECK:        %[[S:.*]] = stablehlo.subtract %[[RB]], %[[RA]]
  %f:3 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x, %y) (%u: !l, %v: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.add %a, %a : !l
    %w:2 = stablehlo.while(%it = %b, %jt = %v) : !l, !l
     cond {
      %false = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %false : tensor<i1>
    } do {
      %i = stablehlo.add %it, %b : !l
      stablehlo.return %i, %jt : !l, !l
    }
    %s = stablehlo.subtract %b, %a : !l
    %t = stablehlo.multiply %w#0, %s : !l
    mpmd.return %w#1, %b, %t : !l, !l, !l
  } : (!m1, !m1) -> (!m1, !m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %f#2, %t : !m1, !m1, !m2
}

// An argument that is returned as it came is a residual, and so is a value that
// both halves return.
// CHECK-LABEL: func private @late_results_may_come_from_early_values
func.func private @late_results_may_come_from_early_values(%x: !m1) -> (!m1, !m1, !m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[K:.*]]:3 = mpmd.fragment<{{.*}}split_keep_transferred} (%[[U:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[A:.*]] = stablehlo.abs %[[U]]
  // CHECK-NEXT:   mpmd.return %[[A]], %[[U]], %[[A]]
  // CHECK:      %[[L:.*]]:3 = mpmd.fragment<{{.*}} (%{{.*}}, %[[K]]#1, %[[K]]#2) {split_drop_transferred} (%{{.*}}: tensor<4x4xf32>, %[[R0:.*]]: tensor<4x4xf32>, %[[R1:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[B:.*]] = stablehlo.sine %[[R0]]
  // CHECK-NEXT:   mpmd.return %[[R1]], %[[R0]], %[[B]]
  %f:4 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) (%u: !l) {
    %a = stablehlo.abs %u : !l
    %b = stablehlo.sine %u : !l
    mpmd.return %a, %u, %b, %a : !l, !l, !l, !l
  } : (!m1) -> (!m1, !m1, !m1, !m1)
  %t = mpmd.transfer %f#3 : (!m1) -> !m2
  return %f#0, %f#1, %f#2, %t : !m1, !m1, !m1, !m2
}

// The gradient of a weight that another mesh has, too, is sent after the last
// microbatch. What the mesh before waits for does not wait for that sum.
// CHECK-LABEL: func @sums_of_late_halves_are_late_though_transferred
func.func @sums_of_late_halves_are_late_though_transferred(%x: !m1, %y: !m1) -> (!m2, !m2, !m2, !m1) attributes {topology = #topology} {
  // CHECK: %[[K0:.*]]:2 = mpmd.fragment{{.*}}call_counter = 0{{.*}}split_keep_transferred
  // CHECK: %[[L0:.*]] = mpmd.fragment{{.*}}call_counter = 0{{.*}}split_drop_transferred
  // CHECK: %[[K1:.*]]:3 = mpmd.fragment{{.*}}call_counter = 1{{.*}}split_keep_transferred} (%{{.*}}: tensor<4x4xf32>, %[[U:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT: %[[D:.*]] = stablehlo.tanh %[[U]]
  // CHECK-NEXT: mpmd.return %[[D]],
  // CHECK: %[[L1:.*]]:2 = mpmd.fragment<{{.*}}> (%[[L0]], {{.*}}call_counter = 1{{.*}}split_drop_transferred}
  // CHECK-NEXT: %[[S:.*]] = stablehlo.add
  // CHECK-NEXT: %[[OWN:.*]] = stablehlo.sine
  // CHECK-NEXT: mpmd.return %[[S]], %[[OWN]]
  // CHECK: mpmd.transfer %[[K1]]#0
  // CHECK: mpmd.transfer %[[L1]]#0
  %first:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    %d = stablehlo.tanh %u : !l
    %g = stablehlo.sine %u : !l
    mpmd.return %g, %d : !l, !l
  } : (!m1) -> (!m1, !m1)
  %second:3 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%first#0, %y) {call_counter = 1 : ui32} (%g: !l, %u: !l) {
    %d = stablehlo.tanh %u : !l
    %sum = stablehlo.add %g, %u : !l
    %own = stablehlo.sine %u : !l
    mpmd.return %sum, %d, %own : !l, !l, !l
  } : (!m1, !m1) -> (!m1, !m1, !m1)
  %0 = mpmd.transfer %first#1 : (!m1) -> !m2
  %1 = mpmd.transfer %second#1 : (!m1) -> !m2
  %2 = mpmd.transfer %second#0 : (!m1) -> !m2
  return %0, %1, %2, %second#2 : !m2, !m2, !m2, !m1
}

// CHECK-LABEL: func @sums_do_not_split_what_is_all_transferred
func.func @sums_do_not_split_what_is_all_transferred(%x: !m1, %y: !m1) -> (!m2, !m2, !m2) attributes {topology = #topology} {
  // CHECK: call_counter = 0{{.*}}split_drop_transferred
  // CHECK: call_counter = 1 : ui32} (
  %first:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    %d = stablehlo.tanh %u : !l
    %g = stablehlo.sine %u : !l
    mpmd.return %g, %d : !l, !l
  } : (!m1) -> (!m1, !m1)
  %second:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%first#0, %y) {call_counter = 1 : ui32} (%g: !l, %u: !l) {
    %d = stablehlo.tanh %u : !l
    %sum = stablehlo.add %g, %u : !l
    mpmd.return %sum, %d : !l, !l
  } : (!m1, !m1) -> (!m1, !m1)
  %0 = mpmd.transfer %first#1 : (!m1) -> !m2
  %1 = mpmd.transfer %second#1 : (!m1) -> !m2
  %2 = mpmd.transfer %second#0 : (!m1) -> !m2
  return %0, %1, %2 : !m2, !m2, !m2
}

// As of a tied weight of the last stage: the mesh before waits for the other result.
// CHECK-LABEL: func @sums_split_what_another_microbatch_waits_for
func.func @sums_split_what_another_microbatch_waits_for(%x: !m1, %y: !m1) -> (!m2, !m2) attributes {topology = #topology} {
  // CHECK: call_counter = 0{{.*}}split_drop_transferred
  // CHECK: mpmd.fragment<{{.*}}call_counter = 1{{.*}}split_keep_transferred} (%{{.*}}, %[[U:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT: %[[D:.*]] = stablehlo.tanh %[[U]]
  // CHECK-NEXT: mpmd.return %[[D]],
  // CHECK: call_counter = 1{{.*}}split_drop_transferred
  // CHECK-NEXT: stablehlo.add
  %first:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    %d = stablehlo.tanh %u : !l
    %g = stablehlo.sine %u : !l
    mpmd.return %g, %d : !l, !l
  } : (!m1) -> (!m1, !m1)
  %second:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%first#0, %y) {call_counter = 1 : ui32} (%g: !l, %u: !l) {
    %d = stablehlo.tanh %u : !l
    %sum = stablehlo.add %g, %u : !l
    mpmd.return %sum, %d : !l, !l
  } : (!m1, !m1) -> (!m1, !m1)
  %0 = mpmd.transfer %first#1 : (!m1) -> !m2
  %1 = mpmd.transfer %second#1 : (!m1) -> !m2
  %2 = mpmd.transfer %second#0 : (!m1) -> !m2
  %3 = mpmd.fragment<mesh="m2", origin=["k"(1)]> (%0) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m2) -> !m2
  %4 = mpmd.fragment<mesh="m2", origin=["k"(1)]> (%1, %3) {call_counter = 1 : ui32} (%u: !l, %v: !l) {
    %w = stablehlo.add %u, %v : !l
    mpmd.return %w : !l
  } : (!m2, !m2) -> !m2
  return %4, %2 : !m2, !m2
}

// CHECK-LABEL: func @is_early_if_all_that_is_transferred_reads_late_halves
func.func @is_early_if_all_that_is_transferred_reads_late_halves(%x: !m1) -> (!m2, !m1, !m2) attributes {topology = #topology} {
  // CHECK: call_counter = 1{{.*}}split_keep_transferred} (%[[G:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT: %[[D:.*]] = stablehlo.tanh %[[G]]
  // CHECK-NEXT: mpmd.return %[[D]],
  // CHECK: call_counter = 1{{.*}}split_drop_transferred
  %first:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    %d = stablehlo.tanh %u : !l
    %g = stablehlo.sine %u : !l
    mpmd.return %g, %d : !l, !l
  } : (!m1) -> (!m1, !m1)
  %second:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%first#0) {call_counter = 1 : ui32} (%g: !l) {
    %d = stablehlo.tanh %g : !l
    %s = stablehlo.sine %g : !l
    mpmd.return %s, %d : !l, !l
  } : (!m1) -> (!m1, !m1)
  %0 = mpmd.transfer %first#1 : (!m1) -> !m2
  %1 = mpmd.transfer %second#1 : (!m1) -> !m2
  return %0, %second#0, %1 : !m2, !m1, !m2
}

// CHECK-LABEL: func private @skips_declarations
// CHECK-SAME:    attributes {topology = #mpmd.topology<{{[^{}]*}}>}{{$}}
func.func private @skips_declarations(!m1) -> !m2 attributes {topology = #topology}

// CHECK-LABEL: func @keeps_entries_with_their_results
// CHECK-NEXT:    %[[K:.*]]:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%{{.*}}) {arg_attrs = [{tf.aliasing_output = 0 : i32}], res_attrs = [{}], split_keep_transferred}
// CHECK:         mpmd.fragment<mesh="m1", origin=["l"(1)]> (%{{.*}}) {arg_attrs = [{}], res_attrs = [{mhlo.memory_kind = "pinned_host"}], split_drop_transferred}
// CHECK:         mpmd.transfer %[[K]]#0
func.func @keeps_entries_with_their_results(%x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%x) {arg_attrs = [{tf.aliasing_output = 1 : i32}, {none}], res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]} (%a: !l) {
    %2 = stablehlo.negate %a : !l
    %3 = stablehlo.sine %2 : !l
    mpmd.return %3, %2 : !l, !l
  } : (!m1) -> (!m1, !m1)
  %1 = mpmd.transfer %0#1 : (!m1) -> !m2
  return %0#0, %1 : !m1, !m2
}
