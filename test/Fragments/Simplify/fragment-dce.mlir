// RUN: mpmd-opt %s -mpmd-fragment-dce | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// The unused result frees an operand, two transfers and a whole fragment.
// CHECK-LABEL: func @removes_chain_of_dead_results_operands_transfers_and_fragments
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %{{.*}}: !mpmd
func.func @removes_chain_of_dead_results_operands_transfers_and_fragments(%x: !m1, %y: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]] = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%[[X]]) {call_counter = 2 : ui32} (%[[A:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.abs %[[A]]
  // CHECK-NEXT:   mpmd.return %[[S]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[M]]
  %0 = mpmd.fragment<mesh="m1", origin=["g"]> (%y) (%a: !t) {
    %4 = stablehlo.sine %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.transfer %1 : (!m2) -> !m1
  %3:3 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%2, %x) {call_counter = 2 : ui32} (%a: !t, %b: !t) {
    %4 = stablehlo.add %a, %b : !t
    %5 = stablehlo.abs %b : !t
    mpmd.return %4, %5, %b : !t, !t, !t
  } : (!m1, !m1) -> (!m1, !m1, !m1)
  return %3#1 : !m1
}

// CHECK-LABEL: func @keeps_order_of_results_and_operands
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %{{.*}}: !mpmd{{.*}}, %[[Z:.*]]: !mpmd
func.func @keeps_order_of_results_and_operands(%x: !m1, %y: !m1, %z: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[Z]]) (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   mpmd.return %[[B]], %[[A]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[M]]#1, %[[M]]#0
  %0:3 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %y, %z) (%a: !t, %b: !t, %c: !t) {
    mpmd.return %c, %b, %a : !t, !t, !t
  } : (!m1, !m1, !m1) -> (!m1, !m1, !m1)
  return %0#2, %0#0 : !m1, !m1
}

// CHECK-LABEL: func @keeps_fragment_with_side_effect_without_results
func.func @keeps_fragment_with_side_effect_without_results(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%{{.*}}) (%{{.*}}) {
  // CHECK-NEXT:   stablehlo.custom_call @g
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: } : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> ()
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %1 = stablehlo.custom_call @g(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %1 : !t
  } : (!m1) -> !m1
  return %x : !m1
}

// It has no effect, although it is not pure.
// CHECK-LABEL: func @removes_custom_call_without_side_effect
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @removes_custom_call_without_side_effect(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: return %[[X]]
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %1 = stablehlo.custom_call @g(%a) : (!t) -> !t
    mpmd.return %1 : !t
  } : (!m1) -> !m1
  return %x : !m1
}

// CHECK-LABEL: func @removes_dead_ops_in_nested_regions
func.func @removes_dead_ops_in_nested_regions(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment
  // CHECK-NOT:  stablehlo.sine
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %1 = stablehlo.while(%s = %a) : !t
    cond {
      %2 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.sine %s : !t
      stablehlo.return %s : !t
    }
    mpmd.return %1 : !t
  } : (!m1) -> !m1
  return %0 : !m1
}

// Nothing is folded, deduplicated or forwarded.
// CHECK-LABEL: func @keeps_operand_passed_through_to_used_result
func.func @keeps_operand_passed_through_to_used_result(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   stablehlo.add
  // CHECK:      return %[[M]]#0, %[[M]]#1
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    %1 = stablehlo.abs %a : !t
    %2 = stablehlo.abs %a : !t
    %3 = stablehlo.add %1, %2 : !t
    mpmd.return %a, %3 : !t, !t
  } : (!m1) -> (!m1, !m1)
  return %0#0, %0#1 : !m1, !m1
}

// Lists of shardings are copied whole.
// CHECK-LABEL: func @keeps_entries_with_their_values
func.func @keeps_entries_with_their_values(%x: !m1, %y: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"], in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{}]>], out_shardings=[<@mesh, [{}]>, <@mesh, [{"x"}]>]> (%{{.*}}) {arg_attrs = [{a}], res_attrs = [{}]} (%{{[^,]*}}) {
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"], in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{}]>], out_shardings=[<@mesh, [{}]>, <@mesh, [{"x"}]>]> (%x, %y) {arg_attrs = [{}, {a}], res_attrs = [{b}, {}]} (%a: !t, %b: !t) {
    mpmd.return %a, %b : !t, !t
  } : (!m1, !m1) -> (!m1, !m1)
  return %0#1 : !m1
}

// CHECK-LABEL: func @leaves_other_unused_ops_alone
func.func @leaves_other_unused_ops_alone(%x: !m1, %y: !t) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.constant
  // CHECK-NEXT: mpmd.assign
  // CHECK-NEXT: return
  %0 = stablehlo.constant dense<1.0> : !t
  %1 = mpmd.assign %y : (!t) -> !m1
  return %x : !m1
}

// CHECK-LABEL: func @acts_on_fragments_in_loops
func.func @acts_on_fragments_in_loops(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK:      mpmd.for
  // CHECK-NEXT:   mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:     stablehlo.abs
  // CHECK-NEXT:     mpmd.return
  // CHECK-NEXT:   }
  // CHECK-NEXT:   mpmd.return
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%s: !m1, %index: tensor<ui32>) {
    %1:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%s) (%a: !t) {
      %3 = stablehlo.abs %a : !t
      %4 = stablehlo.sine %a : !t
      mpmd.return %3, %4 : !t, !t
    } : (!m1) -> (!m1, !m1)
    %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%s) (%a: !t) {
      mpmd.return %a : !t
    } : (!m1) -> !m1
    mpmd.return %1#0 : !m1
  } : !m1
  return %0 : !m1
}

// CHECK-LABEL: func @removes_unused_transfers_between_kept_ops
func.func @removes_unused_transfers_between_kept_ops(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer
  // CHECK-NEXT: %[[U:.*]] = mpmd.transfer %[[T]]
  // CHECK-NEXT: return %[[U]]
  %0 = mpmd.transfer %x : (!m1) -> !m2
  %1 = mpmd.transfer {unused} %0 : (!m2) -> !m1
  %2 = mpmd.transfer %0 : (!m2) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @acts_on_a_function_with_one_mesh
func.func @acts_on_a_function_with_one_mesh() attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  // CHECK-NEXT: return
  mpmd.fragment<mesh="m1", origin=["f"]> () () {
    %0 = stablehlo.constant dense<1.0> : !t
    mpmd.return
  } : () -> ()
  return
}

// CHECK-LABEL: func @leaves_function_without_mesh_alone
func.func @leaves_function_without_mesh_alone() {
  // CHECK-NEXT: mpmd.fragment
  // CHECK-NEXT:   stablehlo.constant
  mpmd.fragment<mesh="m1", origin=["f"]> () () {
    %0 = stablehlo.constant dense<1.0> : !t
    mpmd.return
  } : () -> ()
  return
}

// CHECK-LABEL: func @keeps_results_where_they_are
// CHECK-NEXT:    %[[F:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%{{.*}}) {arg_attrs = [{tf.aliasing_output = 1 : i32}], res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]}
// CHECK:         mpmd.transfer %[[F]]#1
func.func @keeps_results_where_they_are(%x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  %0:3 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {arg_attrs = [{tf.aliasing_output = 2 : i32}], res_attrs = [{}, {mhlo.memory_kind = "pinned_host"}, {}]} (%a: !t) {
    %2 = stablehlo.abs %a : !t
    %3 = stablehlo.negate %a : !t
    %4 = stablehlo.sine %a : !t
    mpmd.return %2, %3, %4 : !t, !t, !t
  } : (!m1) -> (!m1, !m1, !m1)
  %1 = mpmd.transfer %0#2 : (!m1) -> !m2
  return %0#1, %1 : !m1, !m2
}
