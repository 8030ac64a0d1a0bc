// RUN: mpmd-opt %s -mpmd-infer-mesh-finalize=infer-transfers=true | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
!m3 = !mpmd.mesh_tensor<"m3", tensor<4xf32>>
!m10 = !mpmd.mesh_tensor<"m10", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>, <"m3": <["x"=2]>>, <"m10": <["x"=2]>>>

// CHECK-LABEL: func @argument_by_string_order_chain_by_mesh_order
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m10", tensor<4xf32>>)
func.func @argument_by_string_order_chain_by_mesh_order(%p: !t) -> (!m10, !m3, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer %[[P]] {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer %[[A]] {{.*}} -> !mpmd.mesh_tensor<"m3"
  // CHECK-NEXT: return %[[P]], %[[B]], %[[A]]
  %0 = mpmd.assign %p : (!t) -> !m10
  %1 = mpmd.assign %p : (!t) -> !m3
  %2 = mpmd.assign %p : (!t) -> !m2
  return %0, %1, %2 : !m10, !m3, !m2
}

// CHECK-LABEL: func @existing_transfer_is_reused_and_moved_up
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1"
func.func @existing_transfer_is_reused_and_moved_up(%p: !m1) -> (!m2, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer {user} %[[P]]
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m2", origin=[]> (%[[A]])
  // CHECK:      return %[[F]], %[[A]]
  %u = mpmd.unassign %p : (!m1) -> !t
  %0 = mpmd.assign %u : (!t) -> !m2
  %f = mpmd.fragment<mesh="m2", origin=[]> (%0) (%x: !t) {
    %3 = stablehlo.sine %x : !t
    mpmd.return %3 : !t
  } : (!m2) -> !m2
  %1 = mpmd.transfer {user} %p : (!m1) -> !m2
  return %f, %1 : !m2, !m2
}

// CHECK-LABEL: func @broadcast_is_a_chain_from_its_operand
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1"
func.func @broadcast_is_a_chain_from_its_operand(%p: !m1) -> (!m3, !m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer %[[P]] {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer %[[A]] {{.*}} -> !mpmd.mesh_tensor<"m3"
  // CHECK-NEXT: return %[[B]], %[[P]], %[[A]]
  %u = mpmd.unassign %p : (!m1) -> !t
  %b = mpmd.broadcast %u : !t
  %0 = mpmd.assign %b : (!t) -> !m3
  %1 = mpmd.assign %b : (!t) -> !m1
  %2 = mpmd.assign %b : (!t) -> !m2
  return %0, %1, %2 : !m3, !m1, !m2
}

// CHECK-LABEL: func @chain_of_a_broadcast_starts_again_where_its_operand_is
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m2"
func.func @chain_of_a_broadcast_starts_again_where_its_operand_is(%p: !m2) -> (!m3, !m2, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer %[[P]] {{.*}} -> !mpmd.mesh_tensor<"m1"
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer %[[P]] {{.*}} -> !mpmd.mesh_tensor<"m3"
  // CHECK-NEXT: return %[[B]], %[[P]], %[[A]]
  %u = mpmd.unassign %p : (!m2) -> !t
  %b = mpmd.broadcast %u : !t
  %0 = mpmd.assign %b : (!t) -> !m3
  %1 = mpmd.assign %b : (!t) -> !m2
  %2 = mpmd.assign %b : (!t) -> !m1
  return %0, %1, %2 : !m3, !m2, !m1
}

// CHECK-LABEL: func @reduce_folds_per_mesh_and_then_on_each_target
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>>, %[[Q:.*]]: !mpmd.mesh_tensor<"m2", tensor<4xf32>>)
func.func @reduce_folds_per_mesh_and_then_on_each_target(%p: !m1, %q: !m2) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m2", origin=[]> (%[[Q]], %[[Q]]) {mpmd.inferred_by = ["infer_mesh_convert_reduce_ops"]} (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   stablehlo.maximum %[[X]], %[[Y]]
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[P]] {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: %[[R2:.*]] = mpmd.fragment<mesh="m2", origin=[]> (%[[T]], %[[F]])
  // CHECK:      %[[S:.*]] = mpmd.transfer %[[F]] {{.*}} -> !mpmd.mesh_tensor<"m1"
  // CHECK-NEXT: %[[R1:.*]] = mpmd.fragment<mesh="m1", origin=[]> (%[[P]], %[[S]])
  // CHECK:      return %[[R1]], %[[R2]]
  %u = mpmd.unassign %p : (!m1) -> !t
  %v = mpmd.unassign %q : (!m2) -> !t
  %r = mpmd.reduce<max> {mpmd.use_set = #mpmd.meshes_with_origins<"m2", "m1", "m3">} %v, %u, %v : (!t, !t, !t) -> !t
  %a = mpmd.assign %r : (!t) -> !m1
  %b = mpmd.assign %r : (!t) -> !m2
  return %a, %b : !m1, !m2
}

// CHECK-LABEL: func @none_reduce_is_an_identity_fragment
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>>)
func.func @none_reduce_is_an_identity_fragment(%p: !m1) -> !m2 attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[P]]
  // CHECK-NEXT: mpmd.fragment<mesh="m2", origin=[]> (%[[T]]) {{.*}} (%[[X:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   mpmd.return %[[X]]
  %u = mpmd.unassign %p : (!m1) -> !t
  %r = mpmd.reduce<none> {mpmd.use_set = #mpmd.meshes_with_origins<"m2">} %u : (!t) -> !t
  %a = mpmd.assign %r : (!t) -> !m2
  return %a : !m2
}

// CHECK-LABEL: func @sets_and_dead_code_go
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>>)
// CHECK-SAME:    -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @sets_and_dead_code_go(%p: !m1 {mpmd.src_set = #mpmd.meshes_with_origins<"m1">}) -> (!m1 {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%[[P]]) {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}
  // CHECK-NEXT:   stablehlo.sine %{{.*}} : tensor<4xf32>
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%p) {mpmd.use_set = #mpmd.meshes_with_origins<"m1">} (%x: !t) {
    %2 = stablehlo.sine %x {mpmd.use_set = #mpmd.meshes_with_origins<"m1">} : !t
    %3 = stablehlo.cosine %x : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%p) (%x: !t) {
    mpmd.return %x : !t
  } : (!m1) -> !m1
  return %0 : !m1
}
