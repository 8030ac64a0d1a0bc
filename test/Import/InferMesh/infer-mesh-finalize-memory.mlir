// RUN: mpmd-opt %s -mpmd-infer-mesh-finalize=copy-between-memories=true | FileCheck %s

!t = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!host = !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="pinned_host">
!device = !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="device">
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @what_is_computed_goes_to_the_memory_it_is_assigned_to
func.func @what_is_computed_goes_to_the_memory_it_is_assigned_to(%p: !m) -> !host attributes {topology = #topology} {
  // CHECK:      %[[F:.*]] = mpmd.fragment<mesh="m"
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[F]] {{.*}} -> !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="pinned_host">
  // CHECK-NEXT: return %[[T]]
  %f = mpmd.fragment<mesh="m", origin=[]> (%p) (%x: !t) {
    %3 = stablehlo.sine %x : !t
    mpmd.return %3 : !t
  } : (!m) -> !m
  %u = mpmd.unassign %f : (!m) -> !t
  %0 = mpmd.assign %u : (!t) -> !host
  return %0 : !host
}

// A fragment computes in device memory; a result has no memory of its own.
// CHECK-LABEL: func @what_is_on_the_host_is_copied_for_fragments_and_returned_as_it_is
// CHECK-SAME:    (%[[P:.*]]: {{.*}}) -> (!mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="pinned_host">, !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="device">)
func.func @what_is_on_the_host_is_copied_for_fragments_and_returned_as_it_is(%p: !host) -> (!m, !m, !device) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[P]]
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m", origin=[]> (%[[T]])
  // CHECK:      %[[D:.*]] = mpmd.transfer %[[P]] {{.*}} -> !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="device">
  // CHECK-NEXT: return %[[F]], %[[P]], %[[D]]
  %u = mpmd.unassign %p : (!host) -> !t
  %0 = mpmd.assign %u : (!t) -> !m
  %f = mpmd.fragment<mesh="m", origin=[]> (%0) (%x: !t) {
    %3 = stablehlo.sine %x : !t
    mpmd.return %3 : !t
  } : (!m) -> !m
  %1 = mpmd.assign %u : (!t) -> !device
  return %f, %0, %1 : !m, !m, !device
}

// CHECK-LABEL: func @argument_in_one_memory
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="pinned_host">)
func.func @argument_in_one_memory(%p: !t) -> !host attributes {topology = #topology} {
  // CHECK-NEXT: return %[[P]]
  %0 = mpmd.assign %p : (!t) -> !host
  return %0 : !host
}

// CHECK-LABEL: func @argument_in_two_memories
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m", tensor<4xf32>>)
func.func @argument_in_two_memories(%p: !t) -> (!host, !m) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[P]]
  // CHECK-NEXT: return %[[T]], %[[P]]
  %0 = mpmd.assign %p : (!t) -> !host
  %1 = mpmd.assign %p : (!t) -> !m
  return %0, %1 : !host, !m
}

!other = !mpmd.mesh_tensor<"n", tensor<4xf32>>
#two = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

// CHECK-LABEL: func @reduction_is_in_both_memories
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="pinned_host">)
func.func @reduction_is_in_both_memories(%p: !other) -> (!m, !host) attributes {topology = #two} {
  // CHECK: %[[H:.*]] = mpmd.transfer %arg0 {{.*}} memory_kind="pinned_host">
  // CHECK: %[[G:.*]] = mpmd.fragment<mesh="m", origin=[]> (%[[H]])
  // CHECK: %[[D:.*]] = mpmd.transfer %arg0 {{.*}} -> !mpmd.mesh_tensor<"m", tensor<4xf32>>
  // CHECK: %[[F:.*]] = mpmd.fragment<mesh="m", origin=[]> (%[[D]])
  // CHECK: return %[[F]], %[[G]]
  %u = mpmd.unassign %p : (!other) -> !t
  %r = mpmd.reduce<none> {mpmd.use_set = #mpmd.meshes_with_origins<"m">} %u : (!t) -> !t
  %0 = mpmd.assign %r : (!t) -> !m
  %1 = mpmd.assign %r : (!t) -> !host
  return %0, %1 : !m, !host
}

// Both are device memory, but the callee says how it is written.
// CHECK-LABEL: func @value_has_the_type_that_a_callee_asks_for
func.func @value_has_the_type_that_a_callee_asks_for(%p: !m) -> !device attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg0
  // CHECK-NEXT: mpmd.call @callee(%[[T]])
  %u = mpmd.unassign %p : (!m) -> !t
  %0 = mpmd.assign %u : (!t) -> !device
  %1 = mpmd.call @callee(%0) : (!device) -> !device
  return %1 : !device
}
func.func private @callee(%p: !device) -> !device attributes {topology = #topology} {
  return %p : !device
}
