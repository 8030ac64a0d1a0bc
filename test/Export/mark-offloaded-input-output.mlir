// RUN: mpmd-opt %s -mpmd-mark-offloaded-input-output | FileCheck %s

!l = tensor<4x6xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x6xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4x6xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

//===----------------------------------------------------------------------===//
// Marks on fragments
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @marks_results_placed_on_host
func.func @marks_results_placed_on_host(%a: !m) -> (!m, !m {mhlo.memory_kind = "pinned_host"}) attributes {topology = #topology} {
  // CHECK: {arg_attrs = [{}], res_attrs = [{}, {mhlo.memory_kind = "pinned_host"}]}
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %d = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (!l) -> !l
    %h = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (!l) -> !l
    mpmd.return %d, %h : !l, !l
  } : (!m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}

// CHECK-LABEL: func @marks_operands_that_producers_put_on_host
func.func @marks_operands_that_producers_put_on_host(%a: !m {mhlo.memory_kind = "pinned_host"}, %b: !m {mhlo.memory_kind = "device"}) -> !m attributes {topology = #topology} {
  // CHECK: {arg_attrs = [{mhlo.memory_kind = "pinned_host"}, {}], res_attrs = [{mhlo.memory_kind = "pinned_host"}]}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) (%x: !l, %y: !l) {
    %h = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (!l) -> !l
    mpmd.return %h : !l
  } : (!m, !m) -> !m
  // CHECK: {arg_attrs = [{}, {mhlo.memory_kind = "pinned_host"}], res_attrs = [{}]}
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%b, %0) (%x: !l, %y: !l) {
    mpmd.return %x : !l
  } : (!m, !m) -> !m
  return %1 : !m
}

// CHECK-LABEL: func @writes_lists_on_every_fragment
func.func @writes_lists_on_every_fragment() attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> () {arg_attrs = [], res_attrs = []}
  mpmd.fragment<mesh="m", origin=["f"]> () () {
    mpmd.return
  } : () -> ()
  return
}

// CHECK-LABEL: func @keeps_other_attributes_and_device_entries
func.func @keeps_other_attributes_and_device_entries(%a: !m {mhlo.memory_kind = "pinned_host"}, %b: !m) -> !m attributes {topology = #topology} {
  // CHECK: {arg_attrs = [{jax.buffer_donor = true, mhlo.memory_kind = "pinned_host"}, {mhlo.memory_kind = "device"}], res_attrs = [{mhlo.memory_kind = "device"}]}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) {arg_attrs = [{jax.buffer_donor = true}, {mhlo.memory_kind = "device"}], res_attrs = [{mhlo.memory_kind = "device"}]} (%x: !l, %y: !l) {
    mpmd.return %x : !l
  } : (!m, !m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @carries_nothing_across_transfers_or_through_fragments
func.func @carries_nothing_across_transfers_or_through_fragments(%a: !m {mhlo.memory_kind = "pinned_host"}) -> (!m, !n) attributes {topology = #topology} {
  // CHECK: {arg_attrs = [{mhlo.memory_kind = "pinned_host"}], res_attrs = [{}]}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK: {arg_attrs = [{}], res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]}
  %1:2 = mpmd.fragment<mesh="m", origin=["g"]> (%0) (%x: !l) {
    %h = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (!l) -> !l
    mpmd.return %h, %x : !l, !l
  } : (!m) -> (!m, !m)
  %2 = mpmd.transfer %1#1 : (!m) -> !n
  // CHECK: {arg_attrs = [{}], res_attrs = [{}]}
  %3 = mpmd.fragment<mesh="n", origin=["h"]> (%2) (%x: !l) {
    mpmd.return %x : !l
  } : (!n) -> !n
  return %0, %3 : !m, !n
}

// CHECK-LABEL: func @leaves_fragments_in_loops_alone
func.func @leaves_fragments_in_loops_alone(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%{{[^{]*}}) (
  %0 = mpmd.for (%a) {iterations = 2 : ui32} (%p: !m, %i: tensor<ui32>) {
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%p) (%x: !l) {
      mpmd.return %x : !l
    } : (!m) -> !m
    mpmd.return %1 : !m
  } : !m
  return %0 : !m
}

// CHECK-LABEL: func private @leaves_private_function_alone
func.func private @leaves_private_function_alone(%a: !m {mhlo.memory_kind = "pinned_host"}) -> !m attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%{{[^{]*}}) (
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0 : !m
}

// Everything but the device is the host.
// CHECK-LABEL: func @accepts_kinds_of_the_same_side
func.func @accepts_kinds_of_the_same_side(%a: !m {mhlo.memory_kind = "unpinned_host"}, %b: !m {mhlo.memory_kind = "device"}, %c: !m {mhlo.memory_kind = "pinned_host"})
    -> (!m {mhlo.memory_kind = "pinned_host"}, !m) attributes {topology = #topology} {
  // CHECK-NEXT: return %arg0, %arg1
  return %a, %b : !m, !m
}

//===----------------------------------------------------------------------===//
// Where values of a body are
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @compute_type_decides
func.func @compute_type_decides(%a: !m) -> (!m {mhlo.memory_kind = "pinned_host"}, !m) attributes {topology = #topology} {
  // CHECK: res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %s = stablehlo.sine %x {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : !l
    %h = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (!l) -> !l
    %b = stablehlo.custom_call @Sharding(%h) {mhlo.frontend_attributes = {_xla_compute_type = "dense"}} : (!l) -> !l
    mpmd.return %s, %b : !l, !l
  } : (!m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}

// CHECK-LABEL: func @looks_through_barriers_loops_and_updates
func.func @looks_through_barriers_loops_and_updates(%a: !m) -> (!m, !m {mhlo.memory_kind = "pinned_host"}, !m, !m {mhlo.memory_kind = "pinned_host"}, !m {mhlo.memory_kind = "pinned_host"}, !m) attributes {topology = #topology} {
  // CHECK: res_attrs = [{}, {mhlo.memory_kind = "pinned_host"}, {}, {mhlo.memory_kind = "pinned_host"}, {mhlo.memory_kind = "pinned_host"}, {}]
  %0:6 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %h = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (!l) -> !l
    %b:2 = stablehlo.optimization_barrier %x, %h : !l, !l
    %w:2 = stablehlo.while(%p = %h, %q = %x) : !l, !l
     cond {
      %true = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %true : tensor<i1>
    } do {
      %k = stablehlo.custom_call @annotate_device_placement(%q) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (!l) -> !l
      stablehlo.return %p, %k : !l, !l
    }
    %i = stablehlo.constant dense<0> : tensor<i32>
    %u = stablehlo.dynamic_update_slice %x, %h, %i, %i : (!l, !l, tensor<i32>, tensor<i32>) -> !l
    %v = stablehlo.dynamic_update_slice %h, %x, %i, %i : (!l, !l, tensor<i32>, tensor<i32>) -> !l
    mpmd.return %b#0, %b#1, %w#0, %w#1, %u, %v : !l, !l, !l, !l, !l, !l
  } : (!m) -> (!m, !m, !m, !m, !m, !m)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5 : !m, !m, !m, !m, !m, !m
}

!m_1 = !mpmd.mesh_tensor<"m", tensor<1x4x6x1xf32>>
!m_t = !mpmd.mesh_tensor<"m", tensor<6x4xf32>>
!m_b = !mpmd.mesh_tensor<"m", tensor<2x4x6xf32>>
// CHECK-LABEL: func @looks_through_dimensions_of_size_one_only
func.func @looks_through_dimensions_of_size_one_only(%a: !m) -> (!m_1 {mhlo.memory_kind = "pinned_host"}, !m_1 {mhlo.memory_kind = "pinned_host"}, !m_t, !m_b) attributes {topology = #topology} {
  // CHECK: res_attrs = [{mhlo.memory_kind = "pinned_host"}, {mhlo.memory_kind = "pinned_host"}, {}, {}]
  %0:4 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %h = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (!l) -> !l
    %0 = stablehlo.reshape %h : (!l) -> tensor<1x4x6x1xf32>
    %1 = stablehlo.broadcast_in_dim %h, dims = [1, 2] : (!l) -> tensor<1x4x6x1xf32>
    %2 = stablehlo.reshape %h : (!l) -> tensor<6x4xf32>
    %3 = stablehlo.broadcast_in_dim %h, dims = [1, 2] : (!l) -> tensor<2x4x6xf32>
    mpmd.return %0, %1, %2, %3 : tensor<1x4x6x1xf32>, tensor<1x4x6x1xf32>, tensor<6x4xf32>, tensor<2x4x6xf32>
  } : (!m) -> (!m_1, !m_1, !m_t, !m_b)
  return %0#0, %0#1, %0#2, %0#3 : !m_1, !m_1, !m_t, !m_b
}

// CHECK-LABEL: func @looks_through_changes_of_sharding_but_no_other_custom_call
func.func @looks_through_changes_of_sharding_but_no_other_custom_call(%a: !m) -> (!m {mhlo.memory_kind = "pinned_host"}, !m) attributes {topology = #topology} {
  // CHECK: res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %h = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (!l) -> !l
    %0 = stablehlo.custom_call @Sharding(%h) : (!l) -> !l
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) : (!l) -> !l
    %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) : (!l) -> !l
    %3 = stablehlo.custom_call @other(%h) : (!l) -> !l
    mpmd.return %2, %3 : !l, !l
  } : (!m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}

func.func private @offload(%x: !l) -> (!l, !l) {
  %h = stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (!l) -> !l
  return %x, %h : !l, !l
}
func.func private @recursive(%x: !l) -> !l {
  %0 = func.call @recursive(%x) : (!l) -> !l
  return %0 : !l
}
func.func private @declared(!l) -> !l
// CHECK-LABEL: func @looks_into_called_functions
func.func @looks_into_called_functions(%a: !m) -> (!m, !m {mhlo.memory_kind = "pinned_host"}, !m, !m) attributes {topology = #topology} {
  // CHECK: res_attrs = [{}, {mhlo.memory_kind = "pinned_host"}, {}, {}]
  %0:4 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %0:2 = func.call @offload(%x) : (!l) -> (!l, !l)
    %1 = func.call @recursive(%x) : (!l) -> !l
    %2 = func.call @declared(%x) : (!l) -> !l
    mpmd.return %0#0, %0#1, %1, %2 : !l, !l, !l, !l
  } : (!m) -> (!m, !m, !m, !m)
  return %0#0, %0#1, %0#2, %0#3 : !m, !m, !m, !m
}

// A function with branches has no one return to look at.
// CHECK-LABEL: func @does_not_check_results_after_branches
// CHECK:         arg_attrs = [{}], res_attrs = [{}]
func.func @does_not_check_results_after_branches(%a: !mpmd.mesh_tensor<"m", tensor<4xf32>>, %c: i1)
    -> !mpmd.mesh_tensor<"m", tensor<4xf32>> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!mpmd.mesh_tensor<"m", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>>
  "cf.br"(%0)[^bb1] : (!mpmd.mesh_tensor<"m", tensor<4xf32>>) -> ()
^bb1(%b: !mpmd.mesh_tensor<"m", tensor<4xf32>>):
  return %b : !mpmd.mesh_tensor<"m", tensor<4xf32>>
}
