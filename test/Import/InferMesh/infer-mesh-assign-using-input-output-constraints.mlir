// RUN: mpmd-opt %s -mpmd-infer-mesh-assign-using-input-output-constraints=constraints=0:0,1:1 -split-input-file | FileCheck %s

!t = tensor<4xf32>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>, <"m3": <["x"=2]>>>
#in_m2 = #mpmd.meshes_with_origins<"m2"["inferred_in"]>

// CHECK-LABEL: func @assigns_input_and_output
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m2", tensor<4xf32>> {mpmd.use_set = #mpmd.meshes_with_origins<"m2">}
// CHECK-SAME:     %[[Q:.*]]: !mpmd.mesh_tensor<"m2"
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m2", {{.*}}, !mpmd.mesh_tensor<"m2"
func.func @assigns_input_and_output(%p: !t {mpmd.use_set = #mpmd.meshes_with_origins<"m2">}, %q: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[UQ:.*]] = mpmd.unassign {origin = "io_constraint_in"} %[[Q]]
  // CHECK-NEXT: %[[UP:.*]] = mpmd.unassign {origin = "io_constraint_in"} %[[P]]
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[UP]] {mpmd.src_set = #mpmd.meshes_with_origins<"m2"["inferred_in"]>}
  // CHECK-NEXT: %[[C:.*]] = stablehlo.cosine %[[UQ]]
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign {origin = "io_constraint_out"} %[[S]]
  // CHECK-NEXT: %[[B:.*]] = mpmd.assign {origin = "io_constraint_out"} %[[C]]
  // CHECK-NEXT: return %[[A]], %[[B]]
  %0 = stablehlo.sine %p {mpmd.src_set = #in_m2} : !t
  %1 = stablehlo.cosine %q {mpmd.src_set = #in_m2} : !t
  return %0, %1 : !t, !t
}

// CHECK-LABEL: func @use_set_of_output_wins_over_its_src_set
// CHECK-SAME:    (%{{.*}}: !mpmd.mesh_tensor<"m3"
func.func @use_set_of_output_wins_over_its_src_set(%p: !t {mpmd.use_set = #mpmd.meshes_with_origins<"m2", "m3">}, %q: !m2) -> (!t, !m2) attributes {topology = #topology} {
  %0 = stablehlo.sine %p {mpmd.src_set = #in_m2, mpmd.use_set = #mpmd.meshes_with_origins<"m3">} : !t
  return %0, %q : !t, !m2
}

// CHECK-LABEL: func @output_that_is_available_anywhere_follows_its_input
// CHECK-SAME:    (%{{.*}}: !mpmd.mesh_tensor<"m2"
func.func @output_that_is_available_anywhere_follows_its_input(%p: !t {mpmd.use_set = #mpmd.meshes_with_origins<"m3", "m2">}, %q: !m2) -> (!t, !m2) attributes {topology = #topology} {
  %0 = stablehlo.constant dense<1.0> : !t
  return %0, %q : !t, !m2
}

// CHECK-LABEL: func @mesh_of_input_decides
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m2"
func.func @mesh_of_input_decides(%p: !m2, %q: !m2) -> (!t, !m2) attributes {topology = #topology} {
  %0 = mpmd.unassign {mpmd.src_set = #mpmd.meshes_with_origins<"m2", "m1">} %p : (!m2) -> !t
  return %0, %q : !t, !m2
}

// CHECK-LABEL: func @returned_input_is_unassigned_and_assigned
func.func @returned_input_is_unassigned_and_assigned(%p: !t {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}, %q: !m2) -> (!t, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign {origin = "io_constraint_in"}
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign {origin = "io_constraint_out"} %[[U]]
  // CHECK-NEXT: return %[[A]]
  return %p, %q : !t, !m2
}

// CHECK-LABEL: func @pair_without_common_mesh_is_left_alone
// CHECK-SAME:    (%{{.*}}: tensor<4xf32>
// CHECK-SAME:    -> (tensor<4xf32>
func.func @pair_without_common_mesh_is_left_alone(%p: !t {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}, %q: !m2) -> (!t, !m2) attributes {topology = #topology} {
  %0 = stablehlo.sine %p {mpmd.src_set = #in_m2} : !t
  return %0, %q : !t, !m2
}

// CHECK-LABEL: func private @callee_is_left_alone
// CHECK-SAME:    (%{{.*}}: tensor<4xf32>
func.func private @callee_is_left_alone(%p: !t {mpmd.use_set = #mpmd.meshes_with_origins<"m2">}, %q: !t) -> (!t, !t) attributes {topology = #topology} {
  return %p, %q : !t, !t
}
