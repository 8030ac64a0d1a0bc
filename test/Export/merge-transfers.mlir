// RUN: mpmd-opt %s -mpmd-merge-transfers | FileCheck %s

!i = tensor<i32>
!a = !mpmd.mesh_tensor<"m1", tensor<i32>>
!b = !mpmd.mesh_tensor<"m2", tensor<i32>>
!a1 = !mpmd.mesh_tensor<"m1", tensor<1xi32>>
!b1 = !mpmd.mesh_tensor<"m2", tensor<1xi32>>
!a0 = !mpmd.mesh_tensor<"m1", tensor<0x2xi32>>
!b0 = !mpmd.mesh_tensor<"m2", tensor<0x2xi32>>
!a_host = !mpmd.mesh_tensor<"m1", tensor<i32>, memory_kind="pinned_host">
!a_dev = !mpmd.mesh_tensor<"m1", tensor<1xi32>, sharding=<@mesh, [{?}]>, memory_kind="device">
!a2 = !mpmd.mesh_tensor<"m1", tensor<2xi32>>
!b2 = !mpmd.mesh_tensor<"m2", tensor<2xi32>>
!a_unreduced = !mpmd.mesh_tensor<"m1", tensor<1xi32>, sharding=<@mesh, [{?}], unreduced={"x"}>>
!a_one = !mpmd.mesh_tensor<"m1", tensor<1xi32>, sharding=<@mesh, [{"one"}]>>
!b_host = !mpmd.mesh_tensor<"m2", tensor<i32>, memory_kind="pinned_host">
#topology = #mpmd.topology<<"m1": <["x"=2, "one"=1]>>, <"m2": <["x"=2]>>>

// %f2 and %f4 read the early transfer of a result, %f3 the later one. The last
// transfer comes first, and of one transfer the last consumer, so the groups
// are those of %f3, %f4, %f2.
// CHECK-LABEL: func @groups_in_use_order
func.func @groups_in_use_order(%x: !a) -> (!b, !b, !b) attributes {topology = #topology} {
  // CHECK-NEXT: %[[P:.*]]:5 = mpmd.fragment<mesh="m1", origin=["f1"]>
  // CHECK:      %[[TO2:.*]] = mpmd.transfer {concat_transfer} %[[P]]#4
  // CHECK-NEXT: %[[TO4:.*]] = mpmd.transfer {concat_transfer} %[[P]]#3
  // CHECK-NEXT: %[[TO3:.*]] = mpmd.transfer {concat_transfer} %[[P]]#2
  // CHECK-NEXT: %[[T0:.*]] = mpmd.transfer %[[P]]#0
  // CHECK-NEXT: %[[T1:.*]] = mpmd.transfer %[[P]]#1
  // CHECK-NEXT: mpmd.fragment<mesh="m2", origin=["f2"]> (%[[T0]], %[[T1]], %[[TO2]])
  // CHECK:      %[[S0:.*]] = mpmd.transfer %[[P]]#0
  // CHECK-NEXT: %[[S1:.*]] = mpmd.transfer %[[P]]#1
  // CHECK-NEXT: mpmd.fragment<mesh="m2", origin=["f3"]> (%[[S0]], %[[S1]], %[[TO3]])
  // CHECK:      mpmd.fragment<mesh="m2", origin=["f4"]> (%[[T0]], %[[T1]], %[[TO4]])
  %p:2 = mpmd.fragment<mesh="m1", origin=["f1"]> (%x) (%u: !i) {
    %n = stablehlo.negate %u : !i
    mpmd.return %u, %n : !i, !i
  } : (!a) -> (!a, !a)
  %t0 = mpmd.transfer %p#0 : (!a) -> !b
  %t1 = mpmd.transfer %p#1 : (!a) -> !b
  %f2 = mpmd.fragment<mesh="m2", origin=["f2"]> (%t0, %t1) (%u: !i, %v: !i) {
    %s = stablehlo.subtract %u, %v : !i
    mpmd.return %s : !i
  } : (!b, !b) -> !b
  %s0 = mpmd.transfer %p#0 : (!a) -> !b
  %s1 = mpmd.transfer %p#1 : (!a) -> !b
  %f3 = mpmd.fragment<mesh="m2", origin=["f3"]> (%s0, %s1) (%u: !i, %v: !i) {
    %s = stablehlo.subtract %u, %v : !i
    mpmd.return %s : !i
  } : (!b, !b) -> !b
  %f4 = mpmd.fragment<mesh="m2", origin=["f4"]> (%t0, %t1) (%u: !i, %v: !i) {
    %s = stablehlo.subtract %u, %v : !i
    mpmd.return %s : !i
  } : (!b, !b) -> !b
  return %f2, %f3, %f4 : !b, !b, !b
}

// CHECK-LABEL: func @sends_one_concatenation
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @sends_one_concatenation(%x: !a) -> !b attributes {topology = #topology} {
  // CHECK-NEXT: %[[P:.*]]:3 = mpmd.fragment<mesh="m1", origin=["src"], stage=1> (%[[X]]) {call_counter = 2 : ui32} (%[[U:.*]]: tensor<i32>) {
  // CHECK-NEXT:   %[[N:.*]] = stablehlo.negate %[[U]]
  // CHECK-NEXT:   %[[R0:.*]] = stablehlo.reshape %[[U]] : (tensor<i32>) -> tensor<1xi32>
  // CHECK-NEXT:   %[[R1:.*]] = stablehlo.reshape %[[N]] : (tensor<i32>) -> tensor<1xi32>
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.concatenate %[[R0]], %[[R1]], dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  // CHECK-NEXT:   mpmd.return %[[U]], %[[N]], %[[C]]
  // CHECK-NEXT: } : ({{.*}}) -> ({{.*}}, {{.*}}, !mpmd.mesh_tensor<"m1", tensor<2xi32>>)
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer {concat_transfer} %[[P]]#2 : {{.*}} -> !mpmd.mesh_tensor<"m2", tensor<2xi32>>
  // CHECK-NEXT: %[[T0:.*]] = mpmd.transfer %[[P]]#0
  // CHECK-NEXT: %[[T1:.*]] = mpmd.transfer %[[P]]#1
  // CHECK-NEXT: mpmd.fragment<mesh="m2", origin=["dst"]> (%[[T0]], %[[T1]], %[[T]]) {remat} (%{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>, %[[W:.*]]: tensor<2xi32>) {
  // CHECK-NEXT:   %[[S0:.*]] = stablehlo.slice %[[W]] [0:1] : (tensor<2xi32>) -> tensor<1xi32>
  // CHECK-NEXT:   %[[Q0:.*]] = stablehlo.reshape %[[S0]] : (tensor<1xi32>) -> tensor<i32>
  // CHECK-NEXT:   %[[S1:.*]] = stablehlo.slice %[[W]] [1:2] : (tensor<2xi32>) -> tensor<1xi32>
  // CHECK-NEXT:   %[[Q1:.*]] = stablehlo.reshape %[[S1]] : (tensor<1xi32>) -> tensor<i32>
  // CHECK-NEXT:   stablehlo.subtract %[[Q0]], %[[Q1]]
  %p:2 = mpmd.fragment<mesh="m1", origin=["src"], stage=1> (%x) {call_counter = 2 : ui32} (%u: !i) {
    %n = stablehlo.negate %u : !i
    mpmd.return %u, %n : !i, !i
  } : (!a) -> (!a, !a)
  %t0 = mpmd.transfer %p#0 : (!a) -> !b
  %t1 = mpmd.transfer %p#1 : (!a) -> !b
  %c = mpmd.fragment<mesh="m2", origin=["dst"]> (%t0, %t1) {remat} (%u: !i, %v: !i) {
    %s = stablehlo.subtract %u, %v : !i
    mpmd.return %s : !i
  } : (!b, !b) -> !b
  return %c : !b
}

// Each argument gets its own slice, used or not, in the order of the
// concatenation; of two arguments fed by one result, the later comes first.
// CHECK-LABEL: func @slices_once_per_argument
func.func @slices_once_per_argument(%x: !a1) -> !b1 attributes {topology = #topology} {
  // CHECK:      %[[C:.*]] = stablehlo.concatenate {{.*}} : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<2x1xi32>
  // CHECK:      mpmd.fragment<mesh="m2", origin=["dst"]> {{.*}} (%{{.*}}: tensor<1xi32>, %{{.*}}: tensor<1xi32>, %{{.*}}: tensor<1xi32>, %[[W:.*]]: tensor<2x1xi32>) {
  // CHECK-NEXT:   %[[S0:.*]] = stablehlo.slice %[[W]] [0:1, 0:1] : (tensor<2x1xi32>) -> tensor<1x1xi32>
  // CHECK-NEXT:   %[[LATER:.*]] = stablehlo.reshape %[[S0]] : (tensor<1x1xi32>) -> tensor<1xi32>
  // CHECK-NEXT:   %[[S1:.*]] = stablehlo.slice %[[W]] [0:1, 0:1]
  // CHECK-NEXT:   %[[EARLIER:.*]] = stablehlo.reshape %[[S1]]
  // CHECK-NEXT:   %[[S2:.*]] = stablehlo.slice %[[W]] [1:2, 0:1]
  // CHECK-NEXT:   stablehlo.reshape %[[S2]]
  // CHECK-NEXT:   stablehlo.subtract %[[EARLIER]], %[[LATER]]
  %p:2 = mpmd.fragment<mesh="m1", origin=["src"]> (%x) (%u: tensor<1xi32>) {
    %n = stablehlo.negate %u : tensor<1xi32>
    mpmd.return %u, %n : tensor<1xi32>, tensor<1xi32>
  } : (!a1) -> (!a1, !a1)
  %t0 = mpmd.transfer %p#0 : (!a1) -> !b1
  %t1 = mpmd.transfer %p#1 : (!a1) -> !b1
  %c = mpmd.fragment<mesh="m2", origin=["dst"]> (%t1, %t0, %t0) (%unused: tensor<1xi32>, %u: tensor<1xi32>, %v: tensor<1xi32>) {
    %s = stablehlo.subtract %u, %v : tensor<1xi32>
    mpmd.return %s : tensor<1xi32>
  } : (!b1, !b1, !b1) -> !b1
  return %c : !b1
}

// CHECK-LABEL: func @later_producer_puts_its_slices_first
func.func @later_producer_puts_its_slices_first(%x: !a, %y: !a) -> !b attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m2", origin=["dst"]> {{.*}}, %[[W1:.*]]: tensor<2xi32>, %[[W2:.*]]: tensor<2xi32>) {
  // CHECK-NEXT: stablehlo.slice %[[W2]] [0:1]
  // CHECK-NEXT: stablehlo.reshape
  // CHECK-NEXT: stablehlo.slice %[[W2]] [1:2]
  // CHECK-NEXT: stablehlo.reshape
  // CHECK-NEXT: stablehlo.slice %[[W1]] [0:1]
  // CHECK-NEXT: stablehlo.reshape
  // CHECK-NEXT: stablehlo.slice %[[W1]] [1:2]
  %p:2 = mpmd.fragment<mesh="m1", origin=["p"]> (%x) (%u: !i) {
    mpmd.return %u, %u : !i, !i
  } : (!a) -> (!a, !a)
  %q:2 = mpmd.fragment<mesh="m1", origin=["q"]> (%y) (%u: !i) {
    mpmd.return %u, %u : !i, !i
  } : (!a) -> (!a, !a)
  %t0 = mpmd.transfer %p#0 : (!a) -> !b
  %t1 = mpmd.transfer %p#1 : (!a) -> !b
  %s0 = mpmd.transfer %q#0 : (!a) -> !b
  %s1 = mpmd.transfer %q#1 : (!a) -> !b
  %c = mpmd.fragment<mesh="m2", origin=["dst"]> (%t0, %t1, %s0, %s1) (%u: !i, %v: !i, %w: !i, %z: !i) {
    %s = stablehlo.subtract %u, %v : !i
    %t = stablehlo.subtract %w, %z : !i
    %m = stablehlo.multiply %s, %t : !i
    mpmd.return %m : !i
  } : (!b, !b, !b, !b) -> !b
  return %c : !b
}

// The result is concatenated once per transfer; its arguments use the last one.
// CHECK-LABEL: func @takes_a_result_twice_that_comes_over_two_transfers
func.func @takes_a_result_twice_that_comes_over_two_transfers(%x: !a) -> !b attributes {topology = #topology} {
  // CHECK: stablehlo.concatenate %[[R:.*]], %[[S:.*]], dim = 0 {{.*}} -> tensor<2xi32>
  // CHECK: mpmd.fragment<mesh="m2", origin=["dst"]> {{.*}}, %[[W:.*]]: tensor<2xi32>) {
  // CHECK: stablehlo.slice %[[W]] [1:2]
  // CHECK: stablehlo.slice %[[W]] [1:2]
  // CHECK-NOT: stablehlo.slice
  %p = mpmd.fragment<mesh="m1", origin=["p"]> (%x) (%u: !i) {
    mpmd.return %u : !i
  } : (!a) -> !a
  %t0 = mpmd.transfer %p : (!a) -> !b
  %t1 = mpmd.transfer %p : (!a) -> !b
  %c = mpmd.fragment<mesh="m2", origin=["dst"]> (%t0, %t1) (%u: !i, %v: !i) {
    %s = stablehlo.subtract %u, %v : !i
    mpmd.return %s : !i
  } : (!b, !b) -> !b
  return %c : !b
}

// CHECK-LABEL: func @takes_empty_tensors_and_open_dimensions_in_device_memory
func.func @takes_empty_tensors_and_open_dimensions_in_device_memory(%x: !a0, %y: !a_dev) -> (!b0, !b1) attributes {topology = #topology} {
  // CHECK: stablehlo.concatenate {{.*}} -> tensor<2x0x2xi32>
  // CHECK: stablehlo.concatenate {{.*}} -> tensor<2x1xi32>
  // CHECK: stablehlo.slice %{{.*}} [0:1, 0:0, 0:2] : (tensor<2x0x2xi32>) -> tensor<1x0x2xi32>
  %p:2 = mpmd.fragment<mesh="m1", origin=["p"]> (%x) (%u: tensor<0x2xi32>) {
    mpmd.return %u, %u : tensor<0x2xi32>, tensor<0x2xi32>
  } : (!a0) -> (!a0, !a0)
  %q:2 = mpmd.fragment<mesh="m1", origin=["q"]> (%y) (%u: tensor<1xi32>) {
    mpmd.return %u, %u : tensor<1xi32>, tensor<1xi32>
  } : (!a_dev) -> (!a_dev, !a_dev)
  %t0 = mpmd.transfer %p#0 : (!a0) -> !b0
  %t1 = mpmd.transfer %p#1 : (!a0) -> !b0
  %s0 = mpmd.transfer %q#0 : (!a_dev) -> !b1
  %s1 = mpmd.transfer %q#1 : (!a_dev) -> !b1
  %c = mpmd.fragment<mesh="m2", origin=["c"]> (%t0, %t1) (%u: tensor<0x2xi32>, %v: tensor<0x2xi32>) {
    %s = stablehlo.subtract %u, %v : tensor<0x2xi32>
    mpmd.return %s : tensor<0x2xi32>
  } : (!b0, !b0) -> !b0
  %d = mpmd.fragment<mesh="m2", origin=["d"]> (%s0, %s1) (%u: tensor<1xi32>, %v: tensor<1xi32>) {
    %s = stablehlo.subtract %u, %v : tensor<1xi32>
    mpmd.return %s : tensor<1xi32>
  } : (!b1, !b1) -> !b1
  return %c, %d : !b0, !b1
}

// Two scalars of different types, results in host memory, larger tensors, and
// consumers that read one transfer each.
// CHECK-LABEL: func @leaves_other_transfers_alone
func.func @leaves_other_transfers_alone(%x: !a, %y: !a2) -> (!b, !b, !b) attributes {topology = #topology} {
  // CHECK-NOT: concat
  // CHECK: return
  %p:6 = mpmd.fragment<mesh="m1", origin=["p"]> (%x, %y) (%u: !i, %v: tensor<2xi32>) {
    %r = stablehlo.reshape %u : (!i) -> tensor<1xi32>
    mpmd.return %u, %r, %u, %u, %v, %v : !i, tensor<1xi32>, !i, !i, tensor<2xi32>, tensor<2xi32>
  } : (!a, !a2) -> (!a, !a1, !a_host, !a_host, !a2, !a2)
  %t0 = mpmd.transfer %p#0 : (!a) -> !b
  %t1 = mpmd.transfer %p#1 : (!a1) -> !b1
  %t2 = mpmd.transfer %p#2 : (!a_host) -> !b
  %t3 = mpmd.transfer %p#3 : (!a_host) -> !b
  %t4 = mpmd.transfer %p#4 : (!a2) -> !b2
  %t5 = mpmd.transfer %p#5 : (!a2) -> !b2
  %c = mpmd.fragment<mesh="m2", origin=["c"]> (%t0, %t1, %t2, %t3, %t4, %t5) (%0: !i, %1: tensor<1xi32>, %2: !i, %3: !i, %4: tensor<2xi32>, %5: tensor<2xi32>) {
    mpmd.return %0 : !i
  } : (!b, !b1, !b, !b, !b2, !b2) -> !b
  %q:2 = mpmd.fragment<mesh="m1", origin=["q"]> (%x) (%u: !i) {
    mpmd.return %u, %u : !i, !i
  } : (!a) -> (!a, !a)
  %s0 = mpmd.transfer %q#0 : (!a) -> !b
  %s1 = mpmd.transfer %q#1 : (!a) -> !b
  %d = mpmd.fragment<mesh="m2", origin=["d"]> (%s0) (%u: !i) {
    mpmd.return %u : !i
  } : (!b) -> !b
  %e = mpmd.fragment<mesh="m2", origin=["e"]> (%s1) (%u: !i) {
    mpmd.return %u : !i
  } : (!b) -> !b
  return %c, %d, %e : !b, !b, !b
}

// CHECK-LABEL: func @ignores_transfers_of_an_earlier_run
func.func @ignores_transfers_of_an_earlier_run(%x: !a1) -> !b1 attributes {topology = #topology} {
  // CHECK-NOT: stablehlo.concatenate
  // CHECK: return
  %p:2 = mpmd.fragment<mesh="m1", origin=["p"]> (%x) (%u: tensor<1xi32>) {
    mpmd.return %u, %u : tensor<1xi32>, tensor<1xi32>
  } : (!a1) -> (!a1, !a1)
  %t0 = mpmd.transfer {concat_transfer} %p#0 : (!a1) -> !b1
  %t1 = mpmd.transfer {concat_transfer} %p#1 : (!a1) -> !b1
  %c = mpmd.fragment<mesh="m2", origin=["c"]> (%t0, %t1) (%u: tensor<1xi32>, %v: tensor<1xi32>) {
    %s = stablehlo.subtract %u, %v : tensor<1xi32>
    mpmd.return %s : tensor<1xi32>
  } : (!b1, !b1) -> !b1
  return %c : !b1
}

// Also in callees, and for inferred fragments.
// CHECK-LABEL: func private @merges_transfers_within_a_mesh
func.func private @merges_transfers_within_a_mesh(%x: !a) -> !a attributes {topology = #topology} {
  // CHECK:      %[[P:.*]]:3 = mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      %[[T:.*]] = mpmd.transfer {concat_transfer} %[[P]]#2 : (!mpmd.mesh_tensor<"m1", tensor<2xi32>>) -> !mpmd.mesh_tensor<"m1", tensor<2xi32>>
  // CHECK-NEXT: %[[T0:.*]] = mpmd.transfer {kept} %[[P]]#0
  // CHECK-NEXT: %[[T1:.*]] = mpmd.transfer %[[P]]#1
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%[[T0]], %[[T1]], %[[T]])
  %p:2 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%u: !i) {
    mpmd.return %u, %u : !i, !i
  } : (!a) -> (!a, !a)
  %t0 = mpmd.transfer {kept} %p#0 : (!a) -> !a
  %t1 = mpmd.transfer %p#1 : (!a) -> !a
  %c = mpmd.fragment<mesh="m1", origin=[]> (%t0, %t1) (%u: !i, %v: !i) {
    mpmd.return %u : !i
  } : (!a, !a) -> !a
  return %c : !a
}

// What a transfer results in does not matter; the concatenation arrives
// replicated, on the device.
// CHECK-LABEL: func @does_not_look_at_the_type_that_arrives
func.func @does_not_look_at_the_type_that_arrives(%x: !a) -> !b attributes {topology = #topology} {
  // CHECK: mpmd.transfer {concat_transfer} {{.*}} -> !mpmd.mesh_tensor<"m2", tensor<2xi32>>
  // CHECK: mpmd.transfer %{{.*}} -> !mpmd.mesh_tensor<"m2", tensor<i32>, memory_kind="pinned_host">
  %p:2 = mpmd.fragment<mesh="m1", origin=["p"]> (%x) (%u: !i) {
    mpmd.return %u, %u : !i, !i
  } : (!a) -> (!a, !a)
  %t0 = mpmd.transfer %p#0 : (!a) -> !b_host
  %t1 = mpmd.transfer %p#1 : (!a) -> !b
  %c = mpmd.fragment<mesh="m2", origin=["c"]> (%t0, %t1) (%u: !i, %v: !i) {
    mpmd.return %u : !i
  } : (!b_host, !b) -> !b
  return %c : !b
}

// CHECK-LABEL: func @does_not_look_at_unreduced_axes
func.func @does_not_look_at_unreduced_axes(%x: !a_unreduced) -> !b1 attributes {topology = #topology} {
  // CHECK: mpmd.transfer {concat_transfer} %{{.*}} : (!mpmd.mesh_tensor<"m1", tensor<2x1xi32>>) -> !mpmd.mesh_tensor<"m2", tensor<2x1xi32>>
  %p:2 = mpmd.fragment<mesh="m1", origin=["p"]> (%x) (%u: tensor<1xi32>) {
    mpmd.return %u, %u : tensor<1xi32>, tensor<1xi32>
  } : (!a_unreduced) -> (!a_unreduced, !a_unreduced)
  %t0 = mpmd.transfer %p#0 : (!a_unreduced) -> !b1
  %t1 = mpmd.transfer %p#1 : (!a_unreduced) -> !b1
  %c = mpmd.fragment<mesh="m2", origin=["c"]> (%t0, %t1) (%u: tensor<1xi32>, %v: tensor<1xi32>) {
    mpmd.return %u : tensor<1xi32>
  } : (!b1, !b1) -> !b1
  return %c : !b1
}

// Even over an axis of size 1.
// CHECK-LABEL: func @leaves_sharded_results_alone
func.func @leaves_sharded_results_alone(%x: !a_one) -> !b1 attributes {topology = #topology} {
  // CHECK-NOT: concat
  // CHECK: return
  %p:2 = mpmd.fragment<mesh="m1", origin=["p"]> (%x) (%u: tensor<1xi32>) {
    mpmd.return %u, %u : tensor<1xi32>, tensor<1xi32>
  } : (!a_one) -> (!a_one, !a_one)
  %t0 = mpmd.transfer %p#0 : (!a_one) -> !b1
  %t1 = mpmd.transfer %p#1 : (!a_one) -> !b1
  %c = mpmd.fragment<mesh="m2", origin=["c"]> (%t0, %t1) (%u: tensor<1xi32>, %v: tensor<1xi32>) {
    mpmd.return %u : tensor<1xi32>
  } : (!b1, !b1) -> !b1
  return %c : !b1
}

// One group per type: the concatenations come in the order in which the types
// are met, their transfers in reverse.
// CHECK-LABEL: func @groups_by_type
func.func @groups_by_type(%x: !a) -> !b attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m1", origin=["p"]> {{.*}} (%[[U:.*]]: tensor<i32>) {
  // CHECK-NEXT:   %[[V:.*]] = stablehlo.reshape %[[U]] : (tensor<i32>) -> tensor<1xi32>
  // CHECK-NEXT:   %[[R0:.*]] = stablehlo.reshape %[[V]] : (tensor<1xi32>) -> tensor<1x1xi32>
  // CHECK-NEXT:   %[[R1:.*]] = stablehlo.reshape %[[V]]
  // CHECK-NEXT:   %[[C0:.*]] = stablehlo.concatenate %[[R0]], %[[R1]], dim = 0
  // CHECK-NEXT:   %[[R2:.*]] = stablehlo.reshape %[[U]] : (tensor<i32>) -> tensor<1xi32>
  // CHECK-NEXT:   %[[R3:.*]] = stablehlo.reshape %[[U]]
  // CHECK-NEXT:   %[[C1:.*]] = stablehlo.concatenate %[[R2]], %[[R3]], dim = 0
  // CHECK-NEXT:   mpmd.return %[[V]], %[[U]], %[[V]], %[[U]], %[[C0]], %[[C1]]
  // CHECK:      %[[T1:.*]] = mpmd.transfer {concat_transfer} {{.*}} -> !mpmd.mesh_tensor<"m2", tensor<2xi32>>
  // CHECK-NEXT: %[[T0:.*]] = mpmd.transfer {concat_transfer} {{.*}} -> !mpmd.mesh_tensor<"m2", tensor<2x1xi32>>
  // CHECK:      mpmd.fragment<mesh="m2", origin=["c"]> ({{.*}}, %[[T0]], %[[T1]]) ({{.*}}, %[[W0:.*]]: tensor<2x1xi32>, %[[W1:.*]]: tensor<2xi32>) {
  // CHECK-NEXT:   stablehlo.slice %[[W1]] [0:1]
  // CHECK-NEXT:   stablehlo.reshape
  // CHECK-NEXT:   stablehlo.slice %[[W1]] [1:2]
  // CHECK-NEXT:   stablehlo.reshape
  // CHECK-NEXT:   stablehlo.slice %[[W0]] [0:1, 0:1]
  // CHECK-NEXT:   stablehlo.reshape
  // CHECK-NEXT:   stablehlo.slice %[[W0]] [1:2, 0:1]
  %p:4 = mpmd.fragment<mesh="m1", origin=["p"]> (%x) (%u: !i) {
    %v = stablehlo.reshape %u : (!i) -> tensor<1xi32>
    mpmd.return %v, %u, %v, %u : tensor<1xi32>, !i, tensor<1xi32>, !i
  } : (!a) -> (!a1, !a, !a1, !a)
  %t0 = mpmd.transfer %p#0 : (!a1) -> !b1
  %t1 = mpmd.transfer %p#1 : (!a) -> !b
  %t2 = mpmd.transfer %p#2 : (!a1) -> !b1
  %t3 = mpmd.transfer %p#3 : (!a) -> !b
  %c = mpmd.fragment<mesh="m2", origin=["c"]> (%t3, %t2, %t1, %t0) (%u: !i, %v: tensor<1xi32>, %w: !i, %z: tensor<1xi32>) {
    mpmd.return %u : !i
  } : (!b, !b1, !b, !b1) -> !b
  return %c : !b
}

// What the first transfer brings is taken apart before it is sent on.
// CHECK-LABEL: func @merges_what_a_consumer_sends_on
func.func @merges_what_a_consumer_sends_on(%x: !a) -> !a attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m2", origin=["g"]> {{.*}}, %[[W:.*]]: tensor<2xi32>) {
  // CHECK-NEXT:   %[[S0:.*]] = stablehlo.slice %[[W]] [0:1]
  // CHECK-NEXT:   %[[Q0:.*]] = stablehlo.reshape %[[S0]]
  // CHECK-NEXT:   %[[S1:.*]] = stablehlo.slice %[[W]] [1:2]
  // CHECK-NEXT:   %[[Q1:.*]] = stablehlo.reshape %[[S1]]
  // CHECK-NEXT:   %[[R0:.*]] = stablehlo.reshape %[[Q0]]
  // CHECK-NEXT:   %[[R1:.*]] = stablehlo.reshape %[[Q1]]
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.concatenate %[[R0]], %[[R1]]
  // CHECK-NEXT:   mpmd.return %[[Q0]], %[[Q1]], %[[C]]
  // CHECK:      mpmd.transfer {concat_transfer} {{.*}} -> !mpmd.mesh_tensor<"m1", tensor<2xi32>>
  %p:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%u: !i) {
    mpmd.return %u, %u : !i, !i
  } : (!a) -> (!a, !a)
  %t0 = mpmd.transfer %p#0 : (!a) -> !b
  %t1 = mpmd.transfer %p#1 : (!a) -> !b
  %c:2 = mpmd.fragment<mesh="m2", origin=["g"]> (%t0, %t1) (%u: !i, %v: !i) {
    mpmd.return %u, %v : !i, !i
  } : (!b, !b) -> (!b, !b)
  %s0 = mpmd.transfer %c#0 : (!b) -> !a
  %s1 = mpmd.transfer %c#1 : (!b) -> !a
  %d = mpmd.fragment<mesh="m1", origin=["h"]> (%s0, %s1) (%u: !i, %v: !i) {
    mpmd.return %u : !i
  } : (!a, !a) -> !a
  return %d : !a
}

// CHECK-LABEL: func private @skips_declarations
// CHECK-SAME:    attributes {topology = #mpmd.topology<{{[^{}]*}}>}{{$}}
func.func private @skips_declarations(!a) -> !b attributes {topology = #topology}

!axis = tensor<1x!quant.uniform<i8:f32:0, {2.0:1}>>
!axis_a = !mpmd.mesh_tensor<"m1", !axis>
!axis_b = !mpmd.mesh_tensor<"m2", !axis>

// There is no concatenation of what is quantized per axis.
// CHECK-LABEL: func @leaves_values_quantized_per_axis_alone
// CHECK-NOT:     concatenate
func.func @leaves_values_quantized_per_axis_alone(%x: !axis_a, %y: !axis_a) -> !axis_b attributes {topology = #topology} {
  %p:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %y) (%u: !axis, %v: !axis) {
    mpmd.return %u, %v : !axis, !axis
  } : (!axis_a, !axis_a) -> (!axis_a, !axis_a)
  %t0 = mpmd.transfer %p#0 : (!axis_a) -> !axis_b
  %t1 = mpmd.transfer %p#1 : (!axis_a) -> !axis_b
  %c = mpmd.fragment<mesh="m2", origin=["g"]> (%t0, %t1) (%u: !axis, %v: !axis) {
    %s = stablehlo.add %u, %v : !axis
    mpmd.return %s : !axis
  } : (!axis_b, !axis_b) -> !axis_b
  return %c : !axis_b
}

// Where nothing comes, a fragment may read what it sends.
// CHECK-LABEL: func @leaves_other_blocks_alone
// CHECK-NOT:     concatenate
func.func @leaves_other_blocks_alone(%x: !a) -> !a attributes {topology = #topology} {
  return %x : !a
^bb1:
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%1, %2) (%u: !i, %v: !i) {
    mpmd.return %u, %v : !i, !i
  } : (!a, !a) -> (!a, !a)
  %1 = mpmd.transfer %0#0 : (!a) -> !a
  %2 = mpmd.transfer %0#1 : (!a) -> !a
  return %0#0 : !a
}
