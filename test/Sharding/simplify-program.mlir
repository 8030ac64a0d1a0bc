// RUN: mpmd-opt %s -mpmd-simplify-program | FileCheck %s

!l = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!m_x = !mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@g, [{"x"}]>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

// CHECK-LABEL: func @merges_results_of_one_value_and_type
func.func @merges_results_of_one_value_and_type(%a: !m) -> (!m, !m_x, !m, !m_x) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"]>
  // CHECK-NEXT:   %[[N:.*]] = stablehlo.negate
  // CHECK-NEXT:   mpmd.return %[[N]], %[[N]]
  // CHECK:      return %[[F]]#0, %[[F]]#1, %[[F]]#0, %[[F]]#1
  %0:4 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %n = stablehlo.negate %x : !l
    mpmd.return %n, %n, %n, %n : !l, !l, !l, !l
  } : (!m) -> (!m, !m_x, !m, !m_x)
  return %0#0, %0#1, %0#2, %0#3 : !m, !m_x, !m, !m_x
}

// CHECK-LABEL: func @merges_operands_of_one_value
// CHECK-SAME:    (%[[A:[a-z0-9]+]]: !mpmd.mesh_tensor<"m", tensor<4xf32>>, %[[B:[a-z0-9]+]]: !mpmd
func.func @merges_operands_of_one_value(%a: !m, %b: !m) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["f"]> (%[[A]], %[[B]]) (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %[[X]], %[[Y]]
  // CHECK-NEXT:   stablehlo.add %[[S]], %[[X]]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b, %a) (%x: !l, %y: !l, %z: !l) {
    %s = stablehlo.add %x, %y : !l
    %t = stablehlo.add %s, %z : !l
    mpmd.return %t : !l
  } : (!m, !m, !m) -> !m
  return %0 : !m
}

// Also for user fragments, so that an argument is returned after all.
// CHECK-LABEL: func @replaces_result_that_passes_operand_through
// CHECK-SAME:    (%[[A:[a-z0-9]+]]: !mpmd.mesh_tensor<"m", tensor<4xf32>>, %[[B:[a-z0-9]+]]: !mpmd
func.func @replaces_result_that_passes_operand_through(%a: !m, %b: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"]> (%[[A]]) (%[[X:.*]]: tensor<4xf32>) {
  // CHECK:      return %[[A]], %[[F]], %[[B]]
  %0:3 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) (%x: !l, %y: !l) {
    %n = stablehlo.negate %x : !l
    mpmd.return %x, %n, %y : !l, !l, !l
  } : (!m, !m) -> (!m, !m, !m)
  return %0#0, %0#1, %0#2 : !m, !m, !m
}

// CHECK-LABEL: func @keeps_result_that_reshards_operand
func.func @keeps_result_that_reshards_operand(%a: !m) -> !m_x attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment
  // CHECK:      return %[[F]]
  %0 = mpmd.fragment<mesh="m", origin=[]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m_x
  return %0 : !m_x
}

// CHECK-LABEL: func @drops_operand_without_use_and_what_only_fed_it
// CHECK-SAME:    (%[[A:[a-z0-9]+]]: !mpmd
func.func @drops_operand_without_use_and_what_only_fed_it(%a: !m, %b: !m) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["g"]> (%[[A]]) (%{{.*}}: tensor<4xf32>) {
  // CHECK-NOT:  origin=["f"]
  // CHECK:      return
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%b) (%x: !l) {
    %n = stablehlo.negate %x : !l
    mpmd.return %n : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0, %a) (%x: !l, %y: !l) {
    %n = stablehlo.negate %y : !l
    mpmd.return %n : !l
  } : (!m, !m) -> !m
  return %1 : !m
}

// The callback has an effect and so does what computes its operand.
// CHECK-LABEL: func @drops_unused_results_of_pure_ops
func.func @drops_unused_results_of_pure_ops(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]]:2 = mpmd.fragment
  // CHECK-NEXT:   %[[N:.*]] = stablehlo.negate
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.custom_call @effect
  // CHECK-NEXT:   mpmd.return %[[N]], %[[C]]
  // CHECK:      return %[[F]]#0
  %0:4 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %n = stablehlo.negate %x : !l
    %s = stablehlo.sine %x : !l
    %c = stablehlo.custom_call @effect(%x) {has_side_effect = true} : (!l) -> !l
    mpmd.return %n, %s, %c, %x : !l, !l, !l, !l
  } : (!m) -> (!m, !m, !m, !m)
  return %0#0 : !m
}

// CHECK-LABEL: func @erases_pure_fragment_that_nothing_reads
func.func @erases_pure_fragment_that_nothing_reads(%a: !m) attributes {topology = #topology} {
  // CHECK-NEXT: return
  mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return
  } : (!m) -> ()
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %n = stablehlo.negate %x : !l
    mpmd.return %n, %x : !l, !l
  } : (!m) -> (!m, !m)
  return
}

// CHECK-LABEL: func @keeps_only_result_of_fragment_with_effects
func.func @keeps_only_result_of_fragment_with_effects(%a: !m, %b: !m) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["f"]> (%arg0)
  // CHECK-NEXT:   %[[N:.*]] = stablehlo.negate
  // CHECK-NEXT:   custom_call
  // CHECK-NEXT:   mpmd.return %[[N]]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) (%x: !l, %y: !l) {
    %n = stablehlo.negate %x : !l
    %c = stablehlo.custom_call @effect(%x) {has_side_effect = true} : (!l) -> !l
    mpmd.return %n : !l
  } : (!m, !m) -> !m
  return
}

// CHECK-LABEL: func @keeps_fragment_with_effects_whole_if_nothing_reads_it
func.func @keeps_fragment_with_effects_whole_if_nothing_reads_it(%a: !m, %b: !m) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1)
  // CHECK-NEXT:   %[[N:.*]] = stablehlo.negate
  // CHECK-NEXT:   custom_call
  // CHECK-NEXT:   mpmd.return %[[N]], %{{.*}}
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) (%x: !l, %y: !l) {
    %n = stablehlo.negate %x : !l
    %c = stablehlo.custom_call @effect(%x) {has_side_effect = true} : (!l) -> !l
    mpmd.return %n, %x : !l, !l
  } : (!m, !m) -> (!m, !m)
  return
}

// What has been redirected stays redirected.
// CHECK-LABEL: func @redirects_uses_of_fragment_with_effects
// CHECK-SAME:    (%[[A:[a-z0-9]+]]: !mpmd
func.func @redirects_uses_of_fragment_with_effects(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment
  // CHECK-NEXT:   custom_call
  // CHECK:      return %[[A]]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %c = stablehlo.custom_call @effect(%x) {has_side_effect = true} : (!l) -> !l
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @keeps_origin_stage_and_all_attributes
func.func @keeps_origin_stage_and_all_attributes(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["f", "g"(1)], stage=2> (%{{[^{]*}}) {arg_attrs = [{a}], call_counter = 1 : ui32, mpmd.inferred_by = ["p"]}
  %0 = mpmd.fragment<mesh="m", origin=["f", "g"(1)], stage=2> (%a, %a) {arg_attrs = [{a}, {b}], call_counter = 1 : ui32, mpmd.inferred_by = ["p"]} (%x: !l, %y: !l) {
    %s = stablehlo.add %x, %y : !l
    mpmd.return %s : !l
  } : (!m, !m) -> !m
  return %0 : !m
}

// The body is simplified only when the fragment is rebuilt, but what is dead
// goes anyway.
// CHECK-LABEL: func @removes_dead_code_in_bodies
func.func @removes_dead_code_in_bodies(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment
  // CHECK-NEXT:   stablehlo.negate
  // CHECK-NEXT:   mpmd.return
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %n = stablehlo.negate %x : !l
    %s = stablehlo.sine %x : !l
    mpmd.return %n : !l
  } : (!m) -> !m
  return %0 : !m
}

// Operands and results of the loop itself stay.
// CHECK-LABEL: func @reaches_fragments_in_loops
func.func @reaches_fragments_in_loops(%a: !m, %b: !m) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.for (%arg0, %arg1)
  // CHECK-NEXT:   %[[F:.*]] = mpmd.fragment
  // CHECK:        mpmd.return %[[F]], %[[F]]
  %0:2 = mpmd.for (%a, %b) {iterations = 2 : ui32} (%p: !m, %q: !m, %i: tensor<ui32>) {
    %1:2 = mpmd.fragment<mesh="m", origin=["f"]> (%p, %q) (%x: !l, %y: !l) {
      %s = stablehlo.add %x, %y : !l
      mpmd.return %s, %s : !l, !l
    } : (!m, !m) -> (!m, !m)
    mpmd.return %1#0, %1#1 : !m, !m
  } : !m, !m
  return %0#0 : !m
}

// CHECK-LABEL: func @keeps_constraint_that_nothing_reads
func.func @keeps_constraint_that_nothing_reads(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment
  // CHECK-NEXT:   sdy.sharding_constraint
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{"x"}]> : !l
    %n = stablehlo.negate %x : !l
    mpmd.return %n, %n : !l, !l
  } : (!m) -> (!m, !m)
  return %0#0 : !m
}

// The two arguments become one only when the operands do.
// CHECK-LABEL: func @merges_results_that_become_equal_with_operands
// CHECK-SAME:    (%[[A:.*]]: !mpmd
func.func @merges_results_that_become_equal_with_operands(%a: !m) -> (!m_x, !m_x)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]] = mpmd.fragment<mesh="m", origin=["f"]> (%[[A]]) (%[[B:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   mpmd.return %[[B]] :
  // CHECK:      return %[[R]], %[[R]]
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %a) (%b: !l, %c: !l) {
    mpmd.return %b, %c : !l, !l
  } : (!m, !m) -> (!m_x, !m_x)
  return %0#0, %0#1 : !m_x, !m_x
}

// From where attributes say the host, no transfer may be.
// CHECK-LABEL: func @keeps_argument_from_the_host
// CHECK-NEXT:    %[[F:.*]] = mpmd.fragment
// CHECK:         mpmd.transfer %[[F]]
#pair = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>
!n = !mpmd.mesh_tensor<"n", tensor<4xf32>>
func.func @keeps_argument_from_the_host(%a: !m {mhlo.memory_kind = "pinned_host"}) -> !n attributes {topology = #pair} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %1 = mpmd.transfer %0 : (!m) -> !n
  return %1 : !n
}

// CHECK-LABEL: func @keeps_result_on_the_device
// CHECK-NEXT:    %[[F:.*]]:2 = mpmd.fragment
// CHECK:         %[[T:.*]] = mpmd.transfer %[[F]]#1
// CHECK-NEXT:    return %[[F]]#0, %[[T]]
func.func @keeps_result_on_the_device(%a: !m) -> (!m, !n) attributes {topology = #pair} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]} (%x: !l) {
    %s = stablehlo.negate %x : !l
    mpmd.return %s, %s : !l, !l
  } : (!m) -> (!m, !m)
  %1 = mpmd.transfer %0#1 : (!m) -> !n
  return %0#0, %1 : !m, !n
}

// CHECK-LABEL: func @keeps_entries_with_their_values
// CHECK-NEXT:    %[[F:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"]> (%{{.*}}) {arg_attrs = [{b, tf.aliasing_output = 0 : i32}], res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]}
// CHECK:         mpmd.transfer %[[F]]#1
func.func @keeps_entries_with_their_values(%a: !m, %b: !m) -> (!m, !n) attributes {topology = #pair} {
  %0:3 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) {arg_attrs = [{a}, {b, tf.aliasing_output = 1 : i32}], res_attrs = [{}, {mhlo.memory_kind = "pinned_host"}, {}]} (%x: !l, %y: !l) {
    %s = stablehlo.negate %y : !l
    %t = stablehlo.sine %y : !l
    mpmd.return %x, %s, %t : !l, !l, !l
  } : (!m, !m) -> (!m, !m, !m)
  %1 = mpmd.transfer %0#2 : (!m) -> !n
  return %0#1, %1 : !m, !n
}
