// RUN: mpmd-opt %s -mpmd-infer-mesh-populate-use-set | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
!m3 = !mpmd.mesh_tensor<"m3", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>, <"m3": <["x"=2]>>>
#on_m1 = #mpmd.meshes_with_origins<"m1"["old"]>

// CHECK-LABEL: func @newest_use_comes_first
// CHECK-SAME:    %{{.*}}: tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"m2"["g"], "m1"["f"]>})
func.func @newest_use_comes_first(%p: !t) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.sine %{{.*}} {mpmd.use_set = #mpmd.meshes_with_origins<"m2"["g"], "m1"["f"]>}
  // CHECK-NEXT: mpmd.assign {mpmd.use_set = #mpmd.meshes_with_origins<"m1"["f"]>, origin = "f"}
  // CHECK-NEXT: stablehlo.negate %{{.*}} {mpmd.use_set = #mpmd.meshes_with_origins<"m2"["g"]>}
  // CHECK-NEXT: mpmd.assign {mpmd.use_set = #mpmd.meshes_with_origins<"m2"["g"]>, origin = "g"}
  %0 = stablehlo.sine %p : !t
  %1 = mpmd.assign {origin = "f"} %0 : (!t) -> !m1
  %2 = stablehlo.negate %0 : !t
  %3 = mpmd.assign {origin = "g"} %2 : (!t) -> !m2
  return %1, %3 : !m1, !m2
}

// CHECK-LABEL: func @labels_of_one_mesh_come_newest_first
func.func @labels_of_one_mesh_come_newest_first(%p: !t) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.sine %{{.*}} {mpmd.use_set = #mpmd.meshes_with_origins<"m1"["2", "1"]>}
  %0 = stablehlo.sine %p : !t
  %1 = mpmd.assign {origin = "1"} %0 : (!t) -> !m1
  %2 = mpmd.assign {origin = "2"} %0 : (!t) -> !m1
  return %1, %2 : !m1, !m1
}

// CHECK-LABEL: func @extends_existing_sets_at_the_end
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m1"["old", "f"], "m2"["g"]>
func.func @extends_existing_sets_at_the_end(%p: !t {mpmd.use_set = #on_m1}) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.sine %{{.*}} {mpmd.use_set = #mpmd.meshes_with_origins<"m1"["old", "f"], "m2"["g"]>}
  %0 = stablehlo.sine %p {mpmd.use_set = #on_m1} : !t
  %1 = mpmd.assign {origin = "f"} %0 : (!t) -> !m1
  %2 = mpmd.assign {origin = "g"} %0 : (!t) -> !m2
  return %1, %2 : !m1, !m2
}

// CHECK-LABEL: func @overwrites_the_set_of_an_assign
func.func @overwrites_the_set_of_an_assign(%p: !t) -> !m2 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.assign {mpmd.use_set = #mpmd.meshes_with_origins<"m2">}
  %1 = mpmd.assign {mpmd.use_set = #on_m1} %p : (!t) -> !m2
  return %1 : !m2
}

// CHECK-LABEL: func @barriers_cut_the_flow
// CHECK-SAME:    (%[[P:.*]]: tensor<4xf32>) -> !mpmd
func.func @barriers_cut_the_flow(%p: !t) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.sine %[[P]] : tensor<4xf32>
  // CHECK-NEXT: mpmd.broadcast {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}
  // CHECK-NEXT: mpmd.broadcast {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}
  %0 = stablehlo.sine %p : !t
  %1 = mpmd.broadcast %0 : !t
  %2 = mpmd.broadcast %1 : !t
  %3 = mpmd.assign %2 : (!t) -> !m1
  return %3 : !m1
}

// CHECK-LABEL: func @reduces_cut_the_flow
func.func @reduces_cut_the_flow(%p: !t) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.sine %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: mpmd.broadcast {mpmd.use_set = #mpmd.meshes_with_origins<"m1">} %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: mpmd.reduce<add> {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}
  %0 = stablehlo.sine %p : !t
  %1 = mpmd.broadcast %0 : !t
  %2 = mpmd.reduce<add> %0, %1 : (!t, !t) -> !t
  %3 = mpmd.assign %2 : (!t) -> !m1
  return %3 : !m1
}

// CHECK-LABEL: func @unassign_has_a_set_but_passes_none_on
func.func @unassign_has_a_set_but_passes_none_on(%p: !t) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign {mpmd.use_set = #mpmd.meshes_with_origins<"m2">}
  // CHECK-NEXT: mpmd.unassign {mpmd.use_set = #mpmd.meshes_with_origins<"m1">} %[[A]]
  %0 = mpmd.assign %p : (!t) -> !m2
  %1 = mpmd.unassign %0 : (!m2) -> !t
  %2 = mpmd.assign %1 : (!t) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @captured_value_is_needed_where_the_region_op_is
// CHECK-SAME:    %{{.*}}: tensor<i32> {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}
// CHECK-SAME:    %{{.*}}: tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}
func.func @captured_value_is_needed_where_the_region_op_is(%i: tensor<i32>, %p: !t) -> !m1 attributes {topology = #topology} {
  // CHECK: "stablehlo.case"
  // CHECK: stablehlo.sine %{{.*}} : tensor<4xf32>
  // CHECK: mpmd.use_set = #mpmd.meshes_with_origins<"m1">
  %0 = "stablehlo.case"(%i) ({
    %2 = stablehlo.sine %p : !t
    stablehlo.return %2 : !t
  }) : (tensor<i32>) -> !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @entry_output_is_no_use
// CHECK-SAME:    (%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func @entry_output_is_no_use(%p: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.sine %{{.*}} : tensor<4xf32>
  %0 = stablehlo.sine %p : !t
  return %0 : !t
}

// CHECK-LABEL: func @without_topology_is_left_alone
func.func @without_topology_is_left_alone(%p: !t) -> !t {
  // CHECK-NEXT: stablehlo.sine %{{.*}} : tensor<4xf32>
  %0 = stablehlo.sine %p : !t
  return %0 : !t
}

// The use of the second call reaches the operand of the first one, which is
// visited later, but not the other way round.
// CHECK-LABEL: func @calls_accumulate_in_their_callee
// CHECK-SAME:    %{{[^:]*}}: tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"m2", "m1">}
// CHECK-SAME:    %{{[^:]*}}: tensor<4xf32>
func.func @calls_accumulate_in_their_callee(%p: !t, %q: !t) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK:      stablehlo.sine %{{.*}} {mpmd.use_set = #mpmd.meshes_with_origins<"m2", "m1">}
  // CHECK:      stablehlo.cosine %{{.*}} {mpmd.use_set = #mpmd.meshes_with_origins<"m2">}
  %0 = stablehlo.sine %p : !t
  %1 = mpmd.call @identity(%0) : (!t) -> !t
  %2 = mpmd.assign %1 : (!t) -> !m1
  %3 = stablehlo.cosine %q : !t
  %4 = mpmd.call @identity(%3) : (!t) -> !t
  %5 = mpmd.assign %4 : (!t) -> !m2
  return %2, %5 : !m1, !m2
}

// CHECK-LABEL: func private @identity
// CHECK-SAME:    (%{{.*}}: tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"m2", "m1">})
// CHECK-SAME:    -> (tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"m2", "m1">})
func.func private @identity(%p: !t) -> !t attributes {topology = #topology} {
  return %p : !t
}

// CHECK-LABEL: func @chained_calls_reach_a_fixed_point
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m3", "m2", "m1">
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m1", "m3", "m2">
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m2", "m1", "m3">
func.func @chained_calls_reach_a_fixed_point(%x: !t, %y: !t, %z: !t) -> (!m1, !m2, !m3) attributes {topology = #topology} {
  %0:3 = mpmd.call @rotate(%x, %y, %z) : (!t, !t, !t) -> (!t, !t, !t)
  %1:3 = mpmd.call @rotate(%0#0, %0#1, %0#2) : (!t, !t, !t) -> (!t, !t, !t)
  %2:3 = mpmd.call @rotate(%1#0, %1#1, %1#2) : (!t, !t, !t) -> (!t, !t, !t)
  %3 = mpmd.assign %2#0 : (!t) -> !m1
  %4 = mpmd.assign %2#1 : (!t) -> !m2
  %5 = mpmd.assign %2#2 : (!t) -> !m3
  return %3, %4, %5 : !m1, !m2, !m3
}

// CHECK-LABEL: func private @rotate
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m3", "m2", "m1">
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m1", "m3", "m2">
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m2", "m1", "m3">
// CHECK-SAME:    ->
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m1", "m3", "m2">
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m2", "m1", "m3">
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m3", "m2", "m1">
func.func private @rotate(%a: !t, %b: !t, %c: !t) -> (!t, !t, !t) attributes {topology = #topology} {
  return %b, %c, %a : !t, !t, !t
}

// CHECK-LABEL: func @finds_assigns_inside_a_callee
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m2">
func.func @finds_assigns_inside_a_callee(%p: !t) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.call @assigns_argument(%p) : (!t) -> !m1
  return %0 : !m1
}

func.func private @assigns_argument(%p: !t) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.assign %p : (!t) -> !m2
  %1 = mpmd.transfer %0 : (!m2) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func private @unreachable_callee_is_left_alone
func.func private @unreachable_callee_is_left_alone(%p: !t) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.assign %{{.*}} : (tensor<4xf32>)
  %0 = mpmd.assign %p : (!t) -> !m1
  return %0 : !m1
}

// CHECK-LABEL: func @loop_keeps_its_sets_in_arg_attrs
// CHECK-SAME:    mpmd.use_set = #mpmd.meshes_with_origins<"m1">
func.func @loop_keeps_its_sets_in_arg_attrs(%p: !t) -> !m1 attributes {topology = #topology} {
  // CHECK:      mpmd.for
  // CHECK-SAME: arg_attrs = [{mpmd.use_set = #mpmd.meshes_with_origins<"m1">}, {}]
  // CHECK-NEXT: stablehlo.sine %{{.*}} {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}
  %0 = mpmd.for (%p) {iterations = 2 : ui32} (%x: !t, %index: tensor<ui32>) {
    %2 = stablehlo.sine %x : !t
    mpmd.return %2 : !t
  } : !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  return %1 : !m1
}
