// RUN: mpmd-opt %s -mpmd-infer-mesh-pipeline | FileCheck %s
// RUN: mpmd-opt %s -mpmd-infer-mesh-pipeline=infer-transfers=True | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @without_annotation_everything_is_on_the_first_mesh
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>>, %{{.*}}: !mpmd.mesh_tensor<"m1", tensor<4xf32>>)
func.func @without_annotation_everything_is_on_the_first_mesh(%p: !t, %unused: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m1", origin=[]> (%[[P]])
  // CHECK-NEXT:   stablehlo.cosine
  // CHECK-NEXT:   stablehlo.sine
  // CHECK:      return %[[F]], %[[P]]
  %0 = stablehlo.cosine %p : !t
  %1 = stablehlo.sine %0 : !t
  return %1, %p : !t, !t
}

// CHECK-LABEL: func @transfers_of_inputs_are_free
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>>)
func.func @transfers_of_inputs_are_free(%p: !t) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[P]]
  // CHECK-NEXT: return %[[P]], %[[T]]
  %0 = mpmd.assign %p : (!t) -> !m1
  %1 = mpmd.assign %p : (!t) -> !m2
  return %0, %1 : !m1, !m2
}

// The returned value is wanted on m2, where the input is used.
// CHECK-LABEL: func @returned_input_is_taken_where_it_is_used
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1"
func.func @returned_input_is_taken_where_it_is_used(%p: !m1) -> (!t, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[P]]
  // CHECK-NEXT: return %[[T]], %[[T]]
  %u = mpmd.unassign %p : (!m1) -> !t
  %0 = mpmd.assign %u : (!t) -> !m2
  return %u, %0 : !t, !m2
}

// CHECK-LABEL: func @op_with_an_effect_keeps_its_fragment
func.func @op_with_an_effect_keeps_its_fragment(%p: !m2) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m2", origin=[]>
  // CHECK-NEXT:   stablehlo.custom_call @log
  %u = mpmd.unassign %p : (!m2) -> !t
  stablehlo.custom_call @log(%u) {has_side_effect = true} : (!t) -> ()
  return
}

// CHECK-LABEL: func @broadcast_goes_where_it_is_used
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1"
func.func @broadcast_goes_where_it_is_used(%p: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m1"
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[F]]
  // CHECK-NEXT: return %[[F]], %[[T]]
  %u = mpmd.unassign %p : (!m1) -> !t
  %0 = stablehlo.sine %u : !t
  %1 = mpmd.broadcast %0 : !t
  %2 = mpmd.assign %1 : (!t) -> !m1
  %3 = mpmd.assign %1 : (!t) -> !m2
  return %2, %3 : !m1, !m2
}

// CHECK-LABEL: func @callee_used_on_two_meshes_gets_copies
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1"
func.func @callee_used_on_two_meshes_gets_copies(%p: !t) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[P]]
  // CHECK-NEXT: %[[R:.*]]:2 = mpmd.call @f(%[[P]], %[[T]])
  // CHECK-NEXT: return %[[R]]#1, %[[R]]#0
  %0 = mpmd.call @f(%p) : (!t) -> !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.assign %0 : (!t) -> !m2
  return %1, %2 : !m1, !m2
}

// CHECK-LABEL: func private @f
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>> {mpmd.copies = array<i64: 1>}, %[[Q:.*]]: !mpmd.mesh_tensor<"m2", tensor<4xf32>>)
func.func private @f(%p: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.fragment<mesh="m1", origin=[]> (%[[P]])
  // CHECK:      %[[B:.*]] = mpmd.fragment<mesh="m2", origin=[]> (%[[Q]])
  // CHECK:      return %[[B]], %[[A]]
  %0 = stablehlo.sine %p : !t
  return %0 : !t
}

// What is on meshes already, such as the edge between two fragments, stays.
// CHECK-LABEL: func @leaves_edges_between_fragments_alone
// CHECK:         %[[E:.*]] = sdy.data_flow_edge %{{.*}} : !mpmd.mesh_tensor<"m1", tensor<4xf32>>
// CHECK-NEXT:    return %[[E]]
func.func @leaves_edges_between_fragments_alone(%p: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%p) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %1 = sdy.data_flow_edge %0 : !m1
  return %1 : !m1
}
