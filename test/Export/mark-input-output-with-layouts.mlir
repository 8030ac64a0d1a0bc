// RUN: mpmd-opt %s -mpmd-mark-input-output-with-layouts 2>/dev/null | FileCheck %s

!l = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4xf32>>
!cpu = !mpmd.mesh_tensor<"m/cpu", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>, <"m/cpu": <["x"=2]>>>

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @propagates_layout_of_argument_to_fragments
// CHECK-SAME:    {mhlo.layout_mode = "{0,1}"}
func.func @propagates_layout_of_argument_to_fragments(%a: !m {mhlo.layout_mode = "{0,1}"}, %b: !m) -> (!m, !m) attributes {topology = #topology} {
  // CHECK: arg_attrs = [{mhlo.layout_mode = "{0,1}"}, {}, {mhlo.layout_mode = "{0,1}"}], res_attrs = [{}]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b, %a) (%x: !l, %y: !l, %z: !l) {
    mpmd.return %x : !l
  } : (!m, !m, !m) -> !m
  // CHECK: arg_attrs = [{mhlo.layout_mode = "{0,1}"}], res_attrs = [{}]
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0, %1 : !m, !m
}

// CHECK-LABEL: func @removes_text_of_default_layout
// CHECK-SAME:    (%{{[^:]*}}: !mpmd.mesh_tensor<"m", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>>
func.func @removes_text_of_default_layout(%a: !m {mhlo.layout_mode = "default"}) -> (!m {mhlo.layout_mode = "default"}) attributes {topology = #topology} {
  // CHECK: {arg_attrs = [{}], res_attrs = [{}]}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {arg_attrs = [{mhlo.layout_mode = "default"}], res_attrs = [{mhlo.layout_mode = "default"}]} (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @keeps_auto_of_argument_with_one_use
// CHECK-SAME:    {mhlo.layout_mode = "auto"}
func.func @keeps_auto_of_argument_with_one_use(%a: !m {mhlo.layout_mode = "auto"}) -> !m attributes {topology = #topology} {
  // CHECK: arg_attrs = [{mhlo.layout_mode = "auto"}], res_attrs = [{}]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0 : !m
}

// One fragment that reads it twice counts twice, too.
// CHECK-LABEL: func @makes_auto_default_with_two_uses
// CHECK-NOT:     "auto"
func.func @makes_auto_default_with_two_uses(%a: !m {mhlo.layout_mode = "auto"}, %b: !m {mhlo.layout_mode = "auto"}) -> (!m, !n) attributes {topology = #topology} {
  // CHECK: arg_attrs = [{}, {}, {}], res_attrs = [{}]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %a, %b) (%x: !l, %y: !l, %z: !l) {
    mpmd.return %x : !l
  } : (!m, !m, !m) -> !m
  %1 = mpmd.transfer %b : (!m) -> !n
  return %0, %1 : !m, !n
}

// Unused arguments keep even the text "default".
// CHECK-LABEL: func @leaves_unused_argument_alone
// CHECK-SAME:    {mhlo.layout_mode = "default"}
// CHECK-SAME:    {mhlo.layout_mode = "auto"}
func.func @leaves_unused_argument_alone(%a: !m {mhlo.layout_mode = "default"}, %b: !m {mhlo.layout_mode = "auto"}) attributes {topology = #topology} {
  return
}

// Also to the other results as which it is returned.
// CHECK-LABEL: func @gives_argument_layout_that_return_demands
// CHECK-SAME:    (%{{[^:]*}}: !mpmd.mesh_tensor<"m", tensor<4xf32>> {mhlo.layout_mode = "{0}"})
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m", tensor<4xf32>> {mhlo.layout_mode = "{0}"}, !mpmd.mesh_tensor<"m", tensor<4xf32>> {mhlo.layout_mode = "{0}"}, !mpmd.mesh_tensor<"m", tensor<4xf32>>)
func.func @gives_argument_layout_that_return_demands(%a: !m {mhlo.layout_mode = "auto"}) -> (!m {mhlo.layout_mode = "{0}"}, !m {mhlo.layout_mode = "auto"}, !m) attributes {topology = #topology} {
  // CHECK: arg_attrs = [{mhlo.layout_mode = "{0}"}]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %a, %a, %0 : !m, !m, !m
}

// Returns do not count as uses.
// CHECK-LABEL: func @keeps_auto_of_argument_that_is_also_returned
// CHECK-SAME:    {mhlo.layout_mode = "auto"}) -> (
// CHECK-SAME:    {mhlo.layout_mode = "auto"}
func.func @keeps_auto_of_argument_that_is_also_returned(%a: !m {mhlo.layout_mode = "auto"}) -> (!m {mhlo.layout_mode = "auto"}, !m) attributes {topology = #topology} {
  // CHECK: arg_attrs = [{mhlo.layout_mode = "auto"}]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %a, %0 : !m, !m
}

// A result without attribute demands the default.
// CHECK-LABEL: func @returned_auto_argument_becomes_default
// CHECK-SAME:    (%{{[^:]*}}: !mpmd.mesh_tensor<"m", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>) attributes
func.func @returned_auto_argument_becomes_default(%a: !m {mhlo.layout_mode = "auto"}) -> (!m, !m {mhlo.layout_mode = "auto"}) attributes {topology = #topology} {
  return %a, %a : !m, !m
}

// Transfers pass layouts on; one to a CPU mesh makes the value default.
// CHECK-LABEL: func @passes_layouts_through_transfers
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"n", tensor<4xf32>> {mhlo.layout_mode = "{0,1}"}
func.func @passes_layouts_through_transfers(%a: !m {mhlo.layout_mode = "{0,1}"}) -> (!n, !m) attributes {topology = #topology} {
  %0 = mpmd.transfer %a : (!m) -> !n
  %1 = mpmd.transfer %0 : (!n) -> !m
  // CHECK: arg_attrs = [{mhlo.layout_mode = "{0,1}"}]
  %2 = mpmd.fragment<mesh="m", origin=["f"]> (%1) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0, %2 : !n, !m
}

// CHECK-LABEL: func @forces_argument_sent_to_cpu_mesh_to_default
// CHECK-SAME:    (%{{[^:]*}}: !mpmd.mesh_tensor<"m", tensor<4xf32>>, %{{[^:]*}}: !mpmd.mesh_tensor<"m", tensor<4xf32>>)
func.func @forces_argument_sent_to_cpu_mesh_to_default(%a: !m {mhlo.layout_mode = "{0,1}"}, %b: !m {mhlo.layout_mode = "auto"}) -> (!m, !cpu {mhlo.layout_mode = "auto"}, !cpu) attributes {topology = #topology} {
  // CHECK: arg_attrs = [{}]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %1 = mpmd.transfer %a : (!m) -> !cpu
  %2 = mpmd.transfer %b : (!m) -> !cpu
  return %0, %1, %2 : !m, !cpu, !cpu
}

// The layout is lost after the transfer to the CPU mesh, on the way back too.
// CHECK-LABEL: func @propagates_default_after_cpu_mesh
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"n", tensor<4xf32>> {mhlo.layout_mode = "{0,1}"}, !mpmd.mesh_tensor<"m", tensor<4xf32>>)
func.func @propagates_default_after_cpu_mesh(%a: !m {mhlo.layout_mode = "{0,1}"}) -> (!n, !m) attributes {topology = #topology} {
  %0 = mpmd.transfer %a : (!m) -> !n
  %1 = mpmd.transfer %0 : (!n) -> !cpu
  %2 = mpmd.transfer %1 : (!cpu) -> !m
  // CHECK: arg_attrs = [{}]
  %3 = mpmd.fragment<mesh="m", origin=["f"]> (%2) {arg_attrs = [{mhlo.layout_mode = "auto"}]} (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0, %3 : !n, !m
}

// Host memory on an ordinary mesh has layouts.
!m_host = !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="pinned_host">
// CHECK-LABEL: func @keeps_layout_of_argument_sent_to_host_memory
// CHECK-SAME:    {mhlo.layout_mode = "{0,1}"}) -> (
// CHECK-SAME:    {mhlo.layout_mode = "{0,1}"}
func.func @keeps_layout_of_argument_sent_to_host_memory(%a: !m {mhlo.layout_mode = "{0,1}"}) -> !m_host attributes {topology = #topology} {
  %0 = mpmd.transfer %a : (!m) -> !m_host
  return %0 : !m_host
}

//===----------------------------------------------------------------------===//
// Results of fragments
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @chooses_layouts_of_results
func.func @chooses_layouts_of_results(%a: !m) -> (!m {mhlo.layout_mode = "auto"}, !m, !m {mhlo.layout_mode = "{0}"}) attributes {topology = #topology} {
  // Unused, auto, default, custom.
  // CHECK: {arg_attrs = [{}], res_attrs = [{mhlo.layout_mode = "auto"}, {mhlo.layout_mode = "auto"}, {}, {mhlo.layout_mode = "{0}"}]}
  %0:4 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x, %x, %x, %x : !l, !l, !l, !l
  } : (!m) -> (!m, !m, !m, !m)
  return %0#1, %0#2, %0#3 : !m, !m, !m
}

// A result that one more program sees cannot be auto. Its function result
// follows.
// CHECK-LABEL: func @makes_auto_result_default_with_any_other_use
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"n", tensor<4xf32>>) attributes
func.func @makes_auto_result_default_with_any_other_use(%a: !m) -> (!m {mhlo.layout_mode = "auto"}, !m {mhlo.layout_mode = "auto"}, !m, !n {mhlo.layout_mode = "auto"}) attributes {topology = #topology} {
  // CHECK: res_attrs = [{}, {}]
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x, %x : !l, !l
  } : (!m) -> (!m, !m)
  // CHECK: arg_attrs = [{}]
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0#0) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %2 = mpmd.transfer %0#1 : (!m) -> !n
  return %0#0, %0#1, %1, %2 : !m, !m, !m, !n
}

// CHECK-LABEL: func @propagates_layout_that_return_demands_to_other_uses
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m", tensor<4xf32>> {mhlo.layout_mode = "{0}"}, !mpmd.mesh_tensor<"m", tensor<4xf32>> {mhlo.layout_mode = "{0}"}, !mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"n", tensor<4xf32>> {mhlo.layout_mode = "{0}"})
func.func @propagates_layout_that_return_demands_to_other_uses(%a: !m) -> (!m {mhlo.layout_mode = "{0}"}, !m {mhlo.layout_mode = "auto"}, !m, !n) attributes {topology = #topology} {
  // CHECK: res_attrs = [{mhlo.layout_mode = "{0}"}]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK: arg_attrs = [{mhlo.layout_mode = "{0}"}], res_attrs = [{}]
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %2 = mpmd.transfer %0 : (!m) -> !n
  return %0, %0, %1, %2 : !m, !m, !m, !n
}

// CHECK-LABEL: func @forces_result_sent_to_cpu_mesh_to_default
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m/cpu", tensor<4xf32>>)
func.func @forces_result_sent_to_cpu_mesh_to_default(%a: !m) -> (!m {mhlo.layout_mode = "{0}"}, !cpu) attributes {topology = #topology} {
  // CHECK: res_attrs = [{}]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %1 = mpmd.transfer %0 : (!m) -> !cpu
  return %0, %1 : !m, !cpu
}

// The argument goes first and gives result 0 its layout, which the fragment
// finds there. Then the fragment does the same with result 2.
// CHECK-LABEL: func @later_values_see_layouts_settled_before
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"n", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>> {mhlo.layout_mode = "{0}"}, !mpmd.mesh_tensor<"n", tensor<4xf32>> {mhlo.layout_mode = "{0}"})
func.func @later_values_see_layouts_settled_before(%a: !m {mhlo.layout_mode = "auto"}) -> (!n {mhlo.layout_mode = "auto"}, !m {mhlo.layout_mode = "{0}"}, !n) attributes {topology = #topology} {
  %0 = mpmd.transfer %a : (!m) -> !n
  // CHECK: {arg_attrs = [{}], res_attrs = [{mhlo.layout_mode = "{0}"}]}
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %2 = mpmd.transfer %1 : (!m) -> !n
  return %0, %1, %2 : !n, !m, !n
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

// A loop's result is not followed.
// CHECK-LABEL: func @writes_operand_list_only_where_layout_was_propagated
func.func @writes_operand_list_only_where_layout_was_propagated(%a: !m {mhlo.layout_mode = "auto"}) -> !m attributes {topology = #topology} {
  %0 = mpmd.for (%a) {iterations = 2 : ui32} (%p: !m, %i: tensor<ui32>) {
    mpmd.return %p : !m
  } : !m
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%{{[^{]*}}) {res_attrs = [{}]}
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK: mpmd.fragment<mesh="m", origin=["g"]> () {res_attrs = []}
  mpmd.fragment<mesh="m", origin=["g"]> () () {
    mpmd.return
  } : () -> ()
  return %1 : !m
}

// CHECK-LABEL: func @keeps_other_entries
func.func @keeps_other_entries(%a: !m {mhlo.layout_mode = "{0}"}) -> !m attributes {topology = #topology} {
  // CHECK: {arg_attrs = [{mhlo.layout_mode = "{0}", mhlo.memory_kind = "pinned_host"}], res_attrs = [{mhlo.memory_kind = "device"}]}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {arg_attrs = [{mhlo.memory_kind = "pinned_host"}], res_attrs = [{mhlo.memory_kind = "device"}]} (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func private @leaves_private_function_alone
// CHECK-SAME:    "default"
func.func private @leaves_private_function_alone(%a: !m {mhlo.layout_mode = "default"}) -> !m attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%{{[^{]*}}) (
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0 : !m
}
