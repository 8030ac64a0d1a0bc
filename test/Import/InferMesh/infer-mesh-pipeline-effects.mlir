// RUN: mpmd-opt %s -mpmd-infer-mesh-pipeline=infer-transfers=true | FileCheck %s

!t = tensor<f32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<f32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<f32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @draw_that_two_meshes_need_is_transferred
func.func @draw_that_two_meshes_need_is_transferred(%l: !t, %h: !t) -> (!m2, !m1) attributes {topology = #topology} {
  // CHECK:     %[[F:.*]] = mpmd.fragment<mesh="m1"
  // CHECK:       stablehlo.rng
  // CHECK:     mpmd.transfer %[[F]] : {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NOT: stablehlo.rng
  // CHECK:     return
  %s = stablehlo.constant dense<> : tensor<0xi64>
  %0 = stablehlo.rng %l, %h, %s, distribution = UNIFORM : (!t, !t, tensor<0xi64>) -> !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.assign %0 : (!t) -> !m2
  return %2, %1 : !m2, !m1
}

// The negation is computed on both meshes, what it reads is not.
// CHECK-LABEL: func @effect_that_is_needed_through_another_op
func.func @effect_that_is_needed_through_another_op() -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK:     stablehlo.custom_call @launch
  // CHECK-NOT: custom_call
  // CHECK:     return
  %0 = stablehlo.custom_call @launch() {has_side_effect = true} : () -> !t
  %1 = stablehlo.negate %0 : !t
  %2 = mpmd.assign %1 : (!t) -> !m1
  %3 = mpmd.assign %1 : (!t) -> !m2
  return %2, %3 : !m1, !m2
}

// CHECK-LABEL: func @two_fragments_of_one_mesh_read_one_effect
func.func @two_fragments_of_one_mesh_read_one_effect() -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK:     %[[C:.*]] = mpmd.fragment<mesh="m1", origin=[]>
  // CHECK-NEXT:  stablehlo.custom_call @launch
  // CHECK-NOT: custom_call
  // CHECK:     mpmd.fragment<mesh="m1", origin=["f"]> (%[[C]])
  // CHECK:     mpmd.fragment<mesh="m1", origin=["g"]> (%[[C]])
  %0 = stablehlo.custom_call @launch() {has_side_effect = true} : () -> !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%1) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["g"]> (%1) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %2, %3 : !m1, !m1
}

// CHECK-LABEL: func @branch_with_an_effect_runs_once
func.func @branch_with_an_effect_runs_once(%i: tensor<i32>) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK:     stablehlo.case
  // CHECK:     custom_call @launch
  // CHECK-NOT: stablehlo.case
  // CHECK:     return
  %0 = "stablehlo.case"(%i) ({
    %3 = stablehlo.custom_call @launch() {has_side_effect = true} : () -> !t
    stablehlo.return %3 : !t
  }, {
    %3 = stablehlo.constant dense<1.0> : !t
    stablehlo.return %3 : !t
  }) : (tensor<i32>) -> !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.assign %0 : (!t) -> !m2
  return %1, %2 : !m1, !m2
}

// CHECK-LABEL: func @called_function_with_an_effect_runs_once
func.func @called_function_with_an_effect_runs_once() -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK:     call @launch_it
  // CHECK-NOT: call @launch_it
  // CHECK:     return
  %0 = func.call @launch_it() : () -> !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.assign %0 : (!t) -> !m2
  return %1, %2 : !m1, !m2
}
func.func private @launch_it() -> !t {
  %0 = stablehlo.custom_call @launch() {has_side_effect = true} : () -> !t
  return %0 : !t
}

// CHECK-LABEL: func @annotations_and_collectives_are_repeated
func.func @annotations_and_collectives_are_repeated(%x: !t) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m1"
  // CHECK:   custom_call @annotate_device_placement
  // CHECK: mpmd.fragment<mesh="m2"
  // CHECK:   custom_call @annotate_device_placement
  // CHECK: mpmd.fragment<mesh="m1"
  // CHECK:   stablehlo.collective_permute
  // CHECK: mpmd.fragment<mesh="m2"
  // CHECK:   stablehlo.collective_permute
  %0 = stablehlo.custom_call @annotate_device_placement(%x) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (!t) -> !t
  %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (!t) -> !t
  %2 = mpmd.assign %1 : (!t) -> !m1
  %3 = mpmd.assign %1 : (!t) -> !m2
  return %2, %3 : !m1, !m2
}

// An op moves into its reader, unless it would pass another effect there.
// CHECK-LABEL: func @effects_keep_their_order
func.func @effects_keep_their_order(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK:      @first
  // CHECK:      @second
  // CHECK:      @third
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   @fourth
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"]>
  // CHECK-NEXT:   @fifth
  %0 = stablehlo.custom_call @first() {has_side_effect = true} : () -> !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %u = mpmd.unassign %x : (!m1) -> !t
  stablehlo.custom_call @second(%u) {has_side_effect = true} : (!t) -> ()
  %2 = stablehlo.custom_call @third() {has_side_effect = true} : () -> !t
  %3 = mpmd.assign %2 : (!t) -> !m1
  %4 = stablehlo.custom_call @fourth() {has_side_effect = true} : () -> !t
  %5 = mpmd.assign %4 : (!t) -> !m1
  %6 = mpmd.fragment<mesh="m1", origin=["f"]> (%5) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %7 = stablehlo.custom_call @fifth() {has_side_effect = true} : () -> !t
  %8 = mpmd.assign %7 : (!t) -> !m1
  %9 = mpmd.fragment<mesh="m1", origin=["g"]> (%1, %3, %8) (%a: !t, %b: !t, %c: !t) {
    mpmd.return %c : !t
  } : (!m1, !m1, !m1) -> !m1
  return %6, %9 : !m1, !m1
}

// CHECK-LABEL: func @effect_does_not_pass_a_call_that_has_one
func.func @effect_does_not_pass_a_call_that_has_one(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK: @first
  // CHECK: mpmd.call @acts
  // CHECK: mpmd.fragment<mesh="m1", origin=["g"]>
  %0 = stablehlo.custom_call @first() {has_side_effect = true} : () -> !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %u = mpmd.unassign %x : (!m1) -> !t
  %2 = mpmd.call @acts(%u) : (!t) -> !t
  %3 = mpmd.assign %2 : (!t) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=["g"]> (%1) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %3, %4 : !m1, !m1
}
func.func private @acts(%x: !t) -> !t attributes {topology = #topology} {
  stablehlo.custom_call @inner(%x) {has_side_effect = true} : (!t) -> ()
  %0 = stablehlo.negate %x : !t
  return %0 : !t
}

// CHECK-LABEL: func @unread_effect_on_two_meshes_happens_once
func.func @unread_effect_on_two_meshes_happens_once(%x: !t) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK:     mpmd.fragment<mesh="m1"
  // CHECK-NEXT:  custom_call @log
  // CHECK-NOT: custom_call @log
  // CHECK:     return
  stablehlo.custom_call @log(%x) {has_side_effect = true} : (!t) -> ()
  %1 = mpmd.assign %x : (!t) -> !m1
  %2 = mpmd.assign %x : (!t) -> !m2
  return %1, %2 : !m1, !m2
}
