// RUN: mpmd-opt %s -mpmd-infer-mesh-populate-src-set | FileCheck %s

!t = tensor<4xf32>
!s = tensor<f32>
!p = tensor<1x4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
!m3 = !mpmd.mesh_tensor<"m3", tensor<4xf32>>
!p1 = !mpmd.mesh_tensor<"m1", tensor<1x4xf32>>
!p2 = !mpmd.mesh_tensor<"m2", tensor<1x4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>, <"m3": <["x"=2]>>>
#used = #mpmd.meshes_with_origins<"m2"["f"], "m1"["g"]>
#m1 = #mpmd.meshes_with_origins<"m1">

// CHECK-LABEL: func @input_is_available_where_it_is_used
// CHECK-SAME:    {mpmd.src_set = #mpmd.meshes_with_origins<"m2"["inferred_in"], "m1"["inferred_in"]>, mpmd.use_set = #mpmd.meshes_with_origins<"m2"["f"], "m1"["g"]>}
// CHECK-SAME:    %{{[^:]*}}: tensor<4xf32>)
func.func @input_is_available_where_it_is_used(%p: !t {mpmd.use_set = #used}, %q: !t) attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.sine %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<"m2"["inferred_in"], "m1"["inferred_in"]>}
  // CHECK-NEXT: stablehlo.sine %{{.*}} : tensor<4xf32>
  %0 = stablehlo.sine %p : !t
  %1 = stablehlo.sine %q : !t
  return
}

// CHECK-LABEL: func @unassign_adds_transfers_of_its_value
func.func @unassign_adds_transfers_of_its_value(%q: !m1) -> (!m2, !m3) attributes {topology = #topology} {
  // CHECK:      mpmd.unassign {mpmd.src_set = #mpmd.meshes_with_origins<"m1"["f"], "m3"["transfer"], "m2"["transfer"]>, origin = "f"}
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%q) (%x: !t) {
    // CHECK-NOT: src_set
    %0 = stablehlo.sine %x : !t
    mpmd.return %0 : !t
  } : (!m1) -> !m1
  %u = mpmd.unassign {origin = "f"} %f : (!m1) -> !t
  %t2 = mpmd.transfer %f : (!m1) -> !m2
  %t3 = mpmd.transfer %f : (!m1) -> !m3
  return %t2, %t3 : !m2, !m3
}

// CHECK-LABEL: func @unassign_of_input_adds_its_uses
func.func @unassign_of_input_adds_its_uses(%q: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.unassign {mpmd.src_set = #mpmd.meshes_with_origins<"m1"["inferred_in"], "m2"["inferred_in"]>}
  %u = mpmd.unassign %q : (!m1) -> !t
  %0 = mpmd.assign {mpmd.use_set = #mpmd.meshes_with_origins<"m1">} %u : (!t) -> !m1
  %1 = mpmd.assign {mpmd.use_set = #mpmd.meshes_with_origins<"m2">} %u : (!t) -> !m2
  return %0, %1 : !m1, !m2
}

// CHECK-LABEL: func @op_intersects_its_operands
func.func @op_intersects_its_operands(%q: !m1, %p: !t {mpmd.use_set = #used}) attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="m1", origin=[]> (%q) (%x: !t) {
    mpmd.return %x : !t
  } : (!m1) -> !m1
  // CHECK: mpmd.unassign
  %u = mpmd.unassign {origin = "f"} %f : (!m1) -> !t
  // CHECK-NEXT: stablehlo.subtract %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<"m1"["f", "inferred_in"]>}
  %0 = stablehlo.subtract %u, %p : !t
  // CHECK-NEXT: stablehlo.power %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<"m1"["inferred_in", "f"]>}
  %1 = stablehlo.power %p, %0 : !t
  // CHECK-NEXT: mpmd.assign {mpmd.src_set = #mpmd.meshes_with_origins<"m1"["inferred_in", "f"]>}
  %2 = mpmd.assign %1 : (!t) -> !m1
  return
}

// CHECK-LABEL: func @conflict_gives_the_empty_set_from_there_on
func.func @conflict_gives_the_empty_set_from_there_on(%a: !m1, %b: !m2) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!m1) -> !t
  %v = mpmd.unassign %b : (!m2) -> !t
  // CHECK: stablehlo.power %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<>}
  // CHECK: stablehlo.sine %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<>}
  %0 = stablehlo.power %u, %v : !t
  %1 = stablehlo.sine %0 : !t
  return
}

// CHECK-LABEL: func @existing_set_is_intersected
func.func @existing_set_is_intersected(%a: !m1) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!m1) -> !t
  // CHECK: stablehlo.sine %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<>}
  %0 = stablehlo.sine %u {mpmd.src_set = #mpmd.meshes_with_origins<"m2">} : !t
  return
}

// CHECK-LABEL: func @barrier_result_is_available_anywhere
func.func @barrier_result_is_available_anywhere(%a: !m1) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!m1) -> !t
  // CHECK: mpmd.broadcast %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: stablehlo.sine %{{.*}} : tensor<4xf32>
  %0 = mpmd.broadcast %u : !t
  %1 = stablehlo.sine %0 : !t
  return
}

// CHECK-LABEL: func @captured_values_do_not_count
func.func @captured_values_do_not_count(%i: tensor<i32>, %a: !m1) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!m1) -> !t
  // CHECK:     "stablehlo.case"
  // CHECK:     stablehlo.sine %{{.*}} : tensor<4xf32>
  // CHECK-NOT: src_set
  // CHECK:     return
  %0 = "stablehlo.case"(%i) ({
    %2 = stablehlo.sine %u : !t
    stablehlo.return %2 : !t
  }) : (tensor<i32>) -> !t
  return
}

// CHECK-LABEL: func @conflicting_sum_is_a_reduction
func.func @conflicting_sum_is_a_reduction(%a: !m1, %b: !m2, %c: !m3) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!m1) -> !t
  %v = mpmd.unassign %b : (!m2) -> !t
  %w = mpmd.unassign %c : (!m3) -> !t
  // CHECK:      stablehlo.add %{{.*}} {mpmd.reduce = #mpmd.reduction<add>, mpmd.src_set = #mpmd.meshes_with_origins<"m1", "m2">}
  // CHECK-NEXT: stablehlo.add %{{.*}} {mpmd.reduce = #mpmd.reduction<add>, mpmd.src_set = #mpmd.meshes_with_origins<"m1", "m2", "m3">}
  // CHECK-NEXT: stablehlo.add %{{.*}} {mpmd.reduce = #mpmd.reduction<add>, mpmd.src_set = #mpmd.meshes_with_origins<"m1", "m2">}
  // CHECK-NEXT: stablehlo.maximum %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<"m1">}
  %0 = stablehlo.add %u, %v : !t
  %1 = stablehlo.add %0, %w : !t
  %2 = stablehlo.add %u, %0 : !t
  %3 = stablehlo.maximum %2, %u : !t
  return
}

// CHECK-LABEL: func @sum_of_what_has_no_mesh_is_no_reduction
func.func @sum_of_what_has_no_mesh_is_no_reduction(%a: !m1, %b: !m2) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!m1) -> !t
  %v = mpmd.unassign %b : (!m2) -> !t
  %0 = stablehlo.power %u, %v : !t
  // CHECK: stablehlo.add %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<>}
  %1 = stablehlo.add %0, %v : !t
  return
}

// CHECK-LABEL: func @reduce_of_pieces_is_a_reduction
func.func @reduce_of_pieces_is_a_reduction(%a: !p1, %b: !p2) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!p1) -> !p
  %v = mpmd.unassign %b : (!p2) -> !p
  %c = stablehlo.constant dense<0.0> : !s
  // CHECK: stablehlo.concatenate %{{.*}} {mpmd.reduce = #mpmd.reduction<max>, mpmd.src_set = #mpmd.meshes_with_origins<"m1", "m2">}
  // CHECK: stablehlo.reduce{{.*}}mpmd.reduce = #mpmd.reduction<max>, mpmd.src_set = #mpmd.meshes_with_origins<"m1", "m2">
  %0 = stablehlo.concatenate %u, %v, dim = 0 : (!p, !p) -> tensor<2x4xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<2x4xf32>, !s) -> !t
  return
}

// CHECK-LABEL: func @concat_with_another_user_is_no_reduction
func.func @concat_with_another_user_is_no_reduction(%a: !p1, %b: !p2) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!p1) -> !p
  %v = mpmd.unassign %b : (!p2) -> !p
  %c = stablehlo.constant dense<0.0> : !s
  // CHECK: stablehlo.concatenate %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<>}
  %0 = stablehlo.concatenate %u, %v, dim = 0 : (!p, !p) -> tensor<2x4xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<2x4xf32>, !s) -> !t
  %2 = stablehlo.sine %0 : tensor<2x4xf32>
  return
}

// CHECK-LABEL: func @calls_intersect_in_the_argument_of_their_callee
func.func @calls_intersect_in_the_argument_of_their_callee(%a: !m1, %b: !m2) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!m1) -> !t
  %v = mpmd.unassign %b : (!m2) -> !t
  %0 = mpmd.call @sine(%u) : (!t) -> !t
  // CHECK: mpmd.call
  // CHECK-NEXT: stablehlo.negate %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<"m1">}
  %1 = stablehlo.negate %0 : !t
  %2 = mpmd.call @sine(%v) : (!t) -> !t
  // CHECK-NEXT: mpmd.call
  // CHECK-NEXT: stablehlo.negate %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<>}
  %3 = stablehlo.negate %2 : !t
  return
}

// CHECK-LABEL: func private @sine
// CHECK-SAME:    {mpmd.src_set = #mpmd.meshes_with_origins<>}
func.func private @sine(%p: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.sine %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<>}
  %0 = stablehlo.sine %p : !t
  return %0 : !t
}

// CHECK-LABEL: func @visits_regions_of_callees_only
func.func @visits_regions_of_callees_only(%i: tensor<i32>, %a: !m1) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!m1) -> !t
  %0 = mpmd.call @captures(%i, %u) : (tensor<i32>, !t) -> !t
  return
}

// CHECK-LABEL: func private @captures
func.func private @captures(%i: tensor<i32>, %p: !t) -> !t attributes {topology = #topology} {
  // CHECK: stablehlo.sine %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<"m1">}
  %0 = "stablehlo.case"(%i) ({
    %2 = stablehlo.sine %p : !t
    stablehlo.return %2 : !t
  }) : (tensor<i32>) -> !t
  return %0 : !t
}

// CHECK-LABEL: func @loop_argument_is_available_where_its_operand_is
func.func @loop_argument_is_available_where_its_operand_is(%a: !m1) attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!m1) -> !t
  // CHECK:      mpmd.for
  // CHECK-SAME: arg_attrs = [{mpmd.src_set = #mpmd.meshes_with_origins<"m1">}, {}]
  // CHECK-NEXT: stablehlo.sine %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<"m1">}
  %0 = mpmd.for (%u) {iterations = 2 : ui32} (%x: !t, %index: tensor<ui32>) {
    %2 = stablehlo.sine %x : !t
    mpmd.return %2 : !t
  } : !t
  return
}
