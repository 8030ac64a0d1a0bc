// RUN: mpmd-opt %s -mpmd-infer-mesh-assign-mesh-func-leaves=infer-transfers=true | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
!m10 = !mpmd.mesh_tensor<"m10", tensor<4xf32>>
#topology = #mpmd.topology<<"m2": <["x"=2]>>, <"m10": <["x"=2]>>, <"m3": <["x"=2]>>>
#src_all = #mpmd.meshes_with_origins<"m3", "m2", "m10">
#src_none = #mpmd.meshes_with_origins<>
#use_m3 = #mpmd.meshes_with_origins<"m3">

// CHECK-LABEL: func @unused_input_is_on_the_first_mesh_by_name
// CHECK-SAME:    (%{{.*}}: !mpmd.mesh_tensor<"m10", tensor<4xf32>>)
func.func @unused_input_is_on_the_first_mesh_by_name(%p: !t) attributes {topology = #topology} {
  return
}

// CHECK-LABEL: func @output_prefers_a_mesh_it_is_used_on
func.func @output_prefers_a_mesh_it_is_used_on(%p: !t {mpmd.use_set = #use_m3}) -> (!t, !t, !t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.sine %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<"m3", "m2", "m10">} : tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.cosine
  // CHECK-NEXT: %[[C:.*]] = stablehlo.negate
  // CHECK-NEXT: %[[AA:.*]] = mpmd.assign {origin = "inferred_out"} %[[A]] {{.*}}"m3"
  // CHECK-NEXT: %[[AB:.*]] = mpmd.assign {origin = "inferred_out"} %[[B]] {{.*}}"m10"
  // CHECK-NEXT: %[[AC:.*]] = mpmd.assign {origin = "inferred_out"} %[[C]] {{.*}}"m10"
  // CHECK-NEXT: %[[AD:.*]] = mpmd.assign {origin = "inferred_out"} %[[A]] {{.*}}"m3"
  // CHECK-NEXT: return %[[AA]], %[[AB]], %[[AC]], %[[AD]]
  %0 = stablehlo.sine %p {mpmd.src_set = #src_all, mpmd.use_set = #use_m3} : !t
  %1 = stablehlo.cosine %p {mpmd.src_set = #src_all} : !t
  %2 = stablehlo.negate %p {mpmd.src_set = #src_none, mpmd.use_set = #use_m3} : !t
  return %0, %1, %2, %0 : !t, !t, !t, !t
}

// CHECK-LABEL: func @unused_result_is_pinned
func.func @unused_result_is_pinned(%p: !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.sine %{{.*}} {mpmd.src_set
  // CHECK-NEXT: mpmd.assign {origin = "inferred_unused"} %[[A]] {{.*}}"m2"
  // CHECK-NEXT: %[[B:.*]] = stablehlo.sine
  // CHECK-NEXT: mpmd.assign {origin = "inferred_unused"} %[[B]] {{.*}}"m10"
  %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<"m3", "m2">} : !t
  %1 = stablehlo.sine %p : !t
  return
}

// CHECK-LABEL: func @resultless_op_runs_on_each_mesh_in_mesh_order
func.func @resultless_op_runs_on_each_mesh_in_mesh_order(%p: !t) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.assign %{{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: mpmd.fragment<mesh="m2", origin=[]> {{.*}} {mpmd.inferred_by = ["infer_mesh_wrap_resultless_ops"]}
  // CHECK-NEXT:   sdy.sharding_group %{{.*}} group_id=3
  // CHECK:      mpmd.fragment<mesh="m3"
  // CHECK:      mpmd.fragment<mesh="m10"
  // CHECK-NEXT:   sdy.sharding_group
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  sdy.sharding_group %p group_id=3 {mpmd.src_set = #src_all} : !t
  return
}

// CHECK-LABEL: func @resultless_op_with_effects_runs_on_the_first_mesh
func.func @resultless_op_with_effects_runs_on_the_first_mesh(%p: !t) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.assign %{{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: mpmd.fragment<mesh="m2"
  // CHECK-NEXT:   stablehlo.custom_call @log(%{{.*}}) {has_side_effect = true} : (tensor<4xf32>) -> ()
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  stablehlo.custom_call @log(%p) {has_side_effect = true, mpmd.src_set = #src_all} : (!t) -> ()
  return
}

// CHECK-LABEL: func @barrier_operands_are_assigned_where_the_result_is_used
func.func @barrier_operands_are_assigned_where_the_result_is_used(%p: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign {origin = "reduce"} %[[S]] {{.*}}"m3"
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign %[[A]]
  // CHECK-NEXT: %[[B:.*]] = mpmd.assign {origin = "reduce"} %[[S]] {{.*}}"m3"
  // CHECK-NEXT: %[[V:.*]] = mpmd.unassign %[[B]]
  // CHECK-NEXT: %[[R:.*]] = mpmd.reduce<add> %[[U]], %[[V]]
  // CHECK-NEXT: mpmd.assign {origin = "inferred_out"} %[[R]] {{.*}}"m3"
  %0 = stablehlo.sine %p {mpmd.src_set = #src_all} : !t
  %1 = mpmd.reduce<add> {mpmd.use_set = #use_m3} %0, %0 : (!t, !t) -> !t
  return %1 : !t
}

// CHECK-LABEL: func @keeps_use_sets_of_assigns_and_unassigns
func.func @keeps_use_sets_of_assigns_and_unassigns(%p: !m2) -> !m10 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.unassign {mpmd.use_set = #mpmd.meshes_with_origins<"m3">}
  // CHECK-NEXT: mpmd.assign {mpmd.use_set = #mpmd.meshes_with_origins<"m3">}
  %0 = mpmd.unassign {mpmd.use_set = #use_m3} %p : (!m2) -> !t
  %1 = mpmd.assign {mpmd.use_set = #use_m3} %0 : (!t) -> !m10
  return %1 : !m10
}

func.func @caller(%p: !t) -> !t attributes {topology = #topology} {
  %0:2 = mpmd.call @callee(%p, %p) : (!t, !t) -> (!t, !t)
  return %0#0 : !t
}

// CHECK-LABEL: func private @callee
// CHECK-SAME:    (%{{[^:]*}}: tensor<4xf32>, %{{[^:]*}}: tensor<4xf32> {mpmd.src_set = #mpmd.meshes_with_origins<"m3">, mpmd.use_set = #mpmd.meshes_with_origins<"m3"["inferred_unused_callee_in"]>})
// CHECK-SAME:    -> (tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"m3">}, tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"m2"["inferred_unused_callee_out"]>})
func.func private @callee(%p: !t {mpmd.use_set = #use_m3}, %q: !t {mpmd.src_set = #use_m3}) -> (!t {mpmd.use_set = #use_m3}, !t) attributes {topology = #topology} {
  %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<"m2">} : !t
  return %0, %0 : !t, !t
}
