// RUN: mpmd-opt %s -mpmd-split-conditionals -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -mpmd-split-conditionals=sends-little=true -split-input-file | FileCheck %s --check-prefix=LITTLE

!t = tensor<4xf32>
!s = tensor<f32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// CHECK-LABEL: func @splits_by_where_operands_are
func.func @splits_by_where_operands_are(%ok: tensor<i1>, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      %[[U0:.*]] = mpmd.unassign %arg1
  // CHECK-NEXT: %[[U1:.*]] = mpmd.unassign %arg2
  // CHECK-NEXT: %[[A:.*]] = "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   %[[N0:.*]] = stablehlo.negate %[[U0]]
  // CHECK-NEXT:   stablehlo.return %[[N0]]
  // CHECK-NEXT: }, {
  // CHECK-NEXT:   stablehlo.return %[[U0]]
  // CHECK-NEXT: })
  // CHECK-NEXT: %[[AA:.*]] = mpmd.assign {origin = "conditional"} %[[A]] : {{.*}} -> !mpmd.mesh_tensor<"a"
  // CHECK-NEXT: %[[AU:.*]] = mpmd.unassign {origin = "conditional"} %[[AA]]
  // CHECK-NEXT: %[[B:.*]] = "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   %[[N1:.*]] = stablehlo.negate %[[U1]]
  // CHECK-NEXT:   stablehlo.return %[[N1]]
  // CHECK-NEXT: }, {
  // CHECK-NEXT:   stablehlo.return %[[U1]]
  // CHECK-NEXT: })
  // CHECK-NEXT: %[[BA:.*]] = mpmd.assign {origin = "conditional"} %[[B]] : {{.*}} -> !mpmd.mesh_tensor<"b"
  // CHECK-NEXT: %[[BU:.*]] = mpmd.unassign {origin = "conditional"} %[[BA]]
  // CHECK-NEXT: return %[[AU]], %[[BU]]
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    %0 = stablehlo.negate %u0 : !t
    %1 = stablehlo.negate %u1 : !t
    stablehlo.return %0, %1 : !t, !t
  }, {
    stablehlo.return %u0, %u1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// CHECK-LABEL: func @sends_a_computed_predicate
func.func @sends_a_computed_predicate(%i: tensor<i32>, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      %[[N:.*]] = stablehlo.negate %arg0
  // CHECK-NEXT: %[[P:.*]] = mpmd.broadcast %[[N]]
  // CHECK:      "stablehlo.case"(%[[P]])
  // CHECK:      "stablehlo.case"(%[[P]])
  // CHECK:      "stablehlo.case"(%[[P]])
  // CHECK:      "stablehlo.case"(%[[P]])
  // CHECK-NOT:  stablehlo.case
  %n = stablehlo.negate %i : tensor<i32>
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.case"(%n) ({
    stablehlo.return %u0, %u1 : !t, !t
  }) : (tensor<i32>) -> (!t, !t)
  %s:2 = "stablehlo.case"(%n) ({
    stablehlo.return %r#0, %r#1 : !t, !t
  }) : (tensor<i32>) -> (!t, !t)
  return %s#0, %s#1 : !t, !t
}

// Several results of one place stay together, and what may be anywhere joins
// the first of them.
// CHECK-LABEL: func @keeps_results_of_one_place_together
func.func @keeps_results_of_one_place_together(%ok: tensor<i1>, %n: tensor<i32>, %w0: !a, %w1: !b, %w2: !a) -> (tensor<i32>, !t, !t, !t) attributes {topology = #topology} {
  // CHECK:      %[[R:.*]]:3 = "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   stablehlo.return %arg1, %{{.*}}, %{{.*}} : tensor<i32>, tensor<4xf32>, tensor<4xf32>
  // CHECK:      mpmd.assign {origin = "conditional"} %[[R]]#0 : (tensor<i32>) -> !mpmd.mesh_tensor<"a"
  // CHECK:      mpmd.assign {origin = "conditional"} %[[R]]#1 : {{.*}} -> !mpmd.mesh_tensor<"a"
  // CHECK:      mpmd.assign {origin = "conditional"} %[[R]]#2 : {{.*}} -> !mpmd.mesh_tensor<"a"
  // CHECK:      %[[B:.*]] = "stablehlo.if"(%arg0)
  // CHECK:      mpmd.assign {origin = "conditional"} %[[B]] : {{.*}} -> !mpmd.mesh_tensor<"b"
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %u2 = mpmd.unassign %w2 : (!a) -> !t
  %r:4 = "stablehlo.if"(%ok) ({
    stablehlo.return %n, %u0, %u1, %u2 : tensor<i32>, !t, !t, !t
  }, {
    stablehlo.return %n, %u2, %u1, %u0 : tensor<i32>, !t, !t, !t
  }) : (tensor<i1>) -> (tensor<i32>, !t, !t, !t)
  return %r#0, %r#1, %r#2, %r#3 : tensor<i32>, !t, !t, !t
}

// CHECK-LABEL: func @leaves_a_conditional_of_one_place_alone
func.func @leaves_a_conditional_of_one_place_alone(%ok: tensor<i1>, %w0: !a, %w1: !a) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      %[[R:.*]]:2 = "stablehlo.if"(%arg0)
  // CHECK-NOT:  mpmd.assign
  // CHECK:      return %[[R]]#0, %[[R]]#1
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!a) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    stablehlo.return %u0, %u1 : !t, !t
  }, {
    stablehlo.return %u1, %u0 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// A result that is read on several meshes, where it is available, is computed on
// each, and drags nothing else there.
// CHECK-LABEL: func @keeps_apart_what_every_mesh_reads
func.func @keeps_apart_what_every_mesh_reads(%ok: tensor<i1>, %n: tensor<4xf32>, %w0: !a) -> (!t, !a, !b) attributes {topology = #topology} {
  // CHECK:      %[[W:.*]] = "stablehlo.if"(%arg0)
  // CHECK:      mpmd.assign {origin = "conditional"} %[[W]] : {{.*}} -> !mpmd.mesh_tensor<"a"
  // CHECK:      %[[N:.*]] = "stablehlo.if"(%arg0)
  // CHECK:      mpmd.assign {origin = "f"} %[[N]] : {{.*}} -> !mpmd.mesh_tensor<"a"
  // CHECK:      mpmd.assign {origin = "g"} %[[N]] : {{.*}} -> !mpmd.mesh_tensor<"b"
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    stablehlo.return %u0, %n : !t, !t
  }, {
    %0 = stablehlo.negate %u0 : !t
    stablehlo.return %0, %n : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  %a = mpmd.assign {origin = "f"} %r#1 : (!t) -> !a
  %b = mpmd.assign {origin = "g"} %r#1 : (!t) -> !b
  return %r#0, %a, %b : !t, !a, !b
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// A norm over all gradients: its terms are summed up where they are.
// CHECK-LABEL: func @hoists_a_cheap_sum_that_all_parts_share
func.func @hoists_a_cheap_sum_that_all_parts_share(%ok: tensor<i1>, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      %[[U0:.*]] = mpmd.unassign %arg1
  // CHECK-NEXT: %[[U1:.*]] = mpmd.unassign %arg2
  // CHECK-NEXT: %[[C:.*]] = stablehlo.constant
  // CHECK-NEXT: %[[S0:.*]] = stablehlo.reduce(%[[U0]] init: %[[C]])
  // CHECK-NEXT: %[[S1:.*]] = stablehlo.reduce(%[[U1]] init: %[[C]])
  // CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[S0]], %[[S1]]
  // CHECK-NEXT: %[[L:.*]] = stablehlo.broadcast_in_dim %[[S]]
  // CHECK-NEXT: "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   stablehlo.constant
  // CHECK-NEXT:   stablehlo.divide %[[U0]], %[[L]]
  // CHECK:      "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   stablehlo.constant
  // CHECK-NEXT:   stablehlo.divide %[[U1]], %[[L]]
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    %c = stablehlo.constant dense<0.0> : !s
    %s0 = stablehlo.reduce(%u0 init: %c) applies stablehlo.add across dimensions = [0] : (!t, !s) -> !s
    %s1 = stablehlo.reduce(%u1 init: %c) applies stablehlo.add across dimensions = [0] : (!t, !s) -> !s
    %s = stablehlo.add %s0, %s1 : !s
    %l = stablehlo.broadcast_in_dim %s, dims = [] : (!s) -> !t
    %0 = stablehlo.divide %u0, %l : !t
    %1 = stablehlo.divide %u1, %l : !t
    stablehlo.return %0, %1 : !t, !t
  }, {
    stablehlo.return %u0, %u1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// CHECK-LABEL: func @keeps_effects_in_one_part
func.func @keeps_effects_in_one_part(%ok: tensor<i1>, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      %[[R:.*]]:2 = "stablehlo.if"(%arg0)
  // CHECK:      stablehlo.custom_call @draw(%{{.*}}) {has_side_effect = true}
  // CHECK:      stablehlo.custom_call @draw(%{{.*}}) {has_side_effect = true}
  // CHECK-NOT:  stablehlo.if
  // CHECK:      return %[[R]]#0, %[[R]]#1
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    %0 = stablehlo.custom_call @draw(%u0) {has_side_effect = true} : (!t) -> !t
    %1 = stablehlo.custom_call @draw(%u1) {has_side_effect = true} : (!t) -> !t
    stablehlo.return %0, %1 : !t, !t
  }, {
    stablehlo.return %u0, %u1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// An effect that gives no result happens once.
// CHECK-LABEL: func @puts_an_effect_without_reader_in_one_part
func.func @puts_an_effect_without_reader_in_one_part(%ok: tensor<i1>, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      "stablehlo.if"(%arg0)
  // CHECK:      stablehlo.custom_call @print
  // CHECK:      "stablehlo.if"(%arg0)
  // CHECK-NOT:  @print
  // CHECK:      return
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    stablehlo.custom_call @print(%u0) {has_side_effect = true} : (!t) -> ()
    stablehlo.return %u1, %u0 : !t, !t
  }, {
    stablehlo.return %u1, %u0 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// CHECK-LABEL: func @splits_conditionals_in_branches
func.func @splits_conditionals_in_branches(%ok: tensor<i1>, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      %[[U0:.*]] = mpmd.unassign %arg1
  // CHECK-NEXT: %[[U1:.*]] = mpmd.unassign %arg2
  // CHECK-NEXT: %[[S:.*]] = stablehlo.not %arg0
  // CHECK-NEXT: "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   "stablehlo.if"(%[[S]]) ({
  // CHECK-NEXT:     %[[N:.*]] = stablehlo.negate %[[U0]]
  // CHECK-NEXT:     stablehlo.return %[[N]] : tensor<4xf32>
  // CHECK:      mpmd.assign {origin = "conditional"} %{{.*}} -> !mpmd.mesh_tensor<"a"
  // CHECK:      "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   "stablehlo.if"(%[[S]]) ({
  // CHECK-NEXT:     stablehlo.return %[[U1]]
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    %n = stablehlo.not %ok : tensor<i1>
    %i:2 = "stablehlo.if"(%n) ({
      %0 = stablehlo.negate %u0 : !t
      stablehlo.return %0, %u1 : !t, !t
    }, {
      stablehlo.return %u0, %u1 : !t, !t
    }) : (tensor<i1>) -> (!t, !t)
    stablehlo.return %i#0, %i#1 : !t, !t
  }, {
    stablehlo.return %u0, %u1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// CHECK-LABEL: func @moves_conditionals_of_one_place_in_branches
func.func @moves_conditionals_of_one_place_in_branches(%ok: tensor<i1>, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      %[[U0:.*]] = mpmd.unassign %arg1
  // CHECK-NEXT: %[[U1:.*]] = mpmd.unassign %arg2
  // CHECK-NEXT: "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   %[[I:.*]]:2 = "stablehlo.if"(%arg0)
  // CHECK:        stablehlo.add %[[I]]#0, %[[I]]#1
  // CHECK:      "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   stablehlo.return %[[U1]]
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    %i:2 = "stablehlo.if"(%ok) ({
      %n = stablehlo.negate %u0 : !t
      stablehlo.return %n, %u0 : !t, !t
    }, {
      stablehlo.return %u0, %u0 : !t, !t
    }) : (tensor<i1>) -> (!t, !t)
    %0 = stablehlo.add %i#0, %i#1 : !t
    stablehlo.return %0, %u1 : !t, !t
  }, {
    stablehlo.return %u0, %u1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// CHECK-LABEL: func @leaves_a_conditional_with_tokens_alone
func.func @leaves_a_conditional_with_tokens_alone(%ok: tensor<i1>, %token: !stablehlo.token, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      "stablehlo.if"
  // CHECK-NOT:  "stablehlo.if"
  // CHECK:      return
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:3 = "stablehlo.if"(%ok) ({
    stablehlo.return %u0, %u1, %token : !t, !t, !stablehlo.token
  }, {
    stablehlo.return %u0, %u1, %token : !t, !t, !stablehlo.token
  }) : (tensor<i1>) -> (!t, !t, !stablehlo.token)
  return %r#0, %r#1 : !t, !t
}

// CHECK-LABEL: func @leaves_functions_without_topology_alone
func.func @leaves_functions_without_topology_alone(%ok: tensor<i1>, %x: !t, %y: !t) -> (!t, !t) {
  // CHECK:      %[[R:.*]]:2 = "stablehlo.if"
  // CHECK:      return %[[R]]#0, %[[R]]#1
  %r:2 = "stablehlo.if"(%ok) ({
    stablehlo.return %x, %y : !t, !t
  }, {
    stablehlo.return %y, %x : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// -----

!t = tensor<4xf32>
!m = tensor<4x4xf32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// What costs much is neither repeated nor done in vain.
// CHECK-LABEL: func @gives_costly_common_work_a_part_of_its_own
func.func @gives_costly_common_work_a_part_of_its_own(%ok: tensor<i1>, %k: !m, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      %[[U0:.*]] = mpmd.unassign %arg2
  // CHECK:      %[[U1:.*]] = mpmd.unassign %arg3
  // CHECK:      %[[P:.*]] = "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   %[[D:.*]] = stablehlo.dot %arg1, %[[U0]]
  // CHECK-NEXT:   stablehlo.return %[[D]]
  // CHECK-NEXT: }, {
  // CHECK-NEXT:   %[[Z:.*]] = stablehlo.constant dense<0.000000e+00>
  // CHECK-NEXT:   stablehlo.return %[[Z]]
  // CHECK-NEXT: })
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign {origin = "conditional"} %[[P]] : {{.*}} -> !mpmd.mesh_tensor<"a"
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign {origin = "conditional"} %[[A]]
  // CHECK-NEXT: %[[C:.*]] = mpmd.broadcast %[[U]]
  // CHECK-NEXT: "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   stablehlo.add %[[U0]], %[[C]]
  // CHECK:      "stablehlo.if"(%arg0) ({
  // CHECK-NEXT:   stablehlo.add %[[U1]], %[[C]]
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    %d = stablehlo.dot %k, %u0 : (!m, !t) -> !t
    %0 = stablehlo.add %u0, %d : !t
    %1 = stablehlo.add %u1, %d : !t
    stablehlo.return %0, %1 : !t, !t
  }, {
    stablehlo.return %u0, %u1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// -----

!t = tensor<4xf32>
!h = tensor<9223372036854775807xi8>
!a = !mpmd.mesh_tensor<"a", !h>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
!c = !mpmd.mesh_tensor<"c", tensor<4xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>, <"c": <["x"=2]>>>

// CHECK-LABEL: func @largest_part_has_the_say
func.func @largest_part_has_the_say(%ok: tensor<i1>, %w0: !a, %w1: !b, %w2: !c) -> (!h, !h, !t, !t) attributes {topology = #topology} {
  // CHECK: stablehlo.custom_call @draw
  // CHECK: mpmd.assign {origin = "conditional"} %{{.*}}#2 : {{.*}} -> !mpmd.mesh_tensor<"a"
  %u0 = mpmd.unassign %w0 : (!a) -> !h
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %u2 = mpmd.unassign %w2 : (!c) -> !t
  %r:4 = "stablehlo.if"(%ok) ({
    %0 = stablehlo.custom_call @draw(%u0) {has_side_effect = true} : (!h) -> !h
    %1 = stablehlo.custom_call @draw(%u1) {has_side_effect = true} : (!t) -> !t
    stablehlo.return %0, %u0, %1, %u2 : !h, !h, !t, !t
  }, {
    stablehlo.return %u0, %u0, %u1, %u2 : !h, !h, !t, !t
  }) : (tensor<i1>) -> (!h, !h, !t, !t)
  return %r#0, %r#1, %r#2, %r#3 : !h, !h, !t, !t
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
!n = !mpmd.mesh_tensor<"b", tensor<f32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// The moment of a weight on "a" that has no gradient, scaled by a number on "b".
// CHECK-LABEL: func @scaled_by_a_number
// LITTLE-LABEL: func @scaled_by_a_number
func.func @scaled_by_a_number(%ok: tensor<i1>, %w0: !a, %m: !t, %w1: !b, %n: !n) -> (!t, !t, !t) attributes {topology = #topology} {
  // CHECK:      %[[R:.*]]:2 = "stablehlo.if"(%arg0)
  // CHECK-NOT:  mpmd.assign
  // CHECK:      return %{{.*}}, %[[R]]#0, %[[R]]#1
  // LITTLE:     mpmd.assign {origin = "conditional"} %{{.*}} -> !mpmd.mesh_tensor<"a"
  // LITTLE:     mpmd.assign {origin = "conditional"} %{{.*}} -> !mpmd.mesh_tensor<"b"
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %number = mpmd.unassign %n : (!n) -> !s
  %all = stablehlo.broadcast_in_dim %number, dims = [] : (!s) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    %0 = stablehlo.multiply %m, %all : !t
    %1 = stablehlo.negate %u1 : !t
    stablehlo.return %0, %1 : !t, !t
  }, {
    stablehlo.return %m, %u1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  %new = stablehlo.subtract %u0, %r#0 : !t
  return %new, %r#0, %r#1 : !t, !t, !t
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
!n = !mpmd.mesh_tensor<"a", tensor<f32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// The gradient of a weight that "b" reads is made of that and a number on "a".
// CHECK-LABEL: func @with_a_gradient_of_a_number
// LITTLE-LABEL: func @with_a_gradient_of_a_number
func.func @with_a_gradient_of_a_number(%ok: tensor<i1>, %w: !t, %m0: !t, %m1: !t, %g: !a, %n: !n) -> (!b, !t, !t) attributes {topology = #topology} {
  // CHECK:      "stablehlo.if"(%arg0)
  // CHECK-NOT:  mpmd.assign
  // LITTLE:     mpmd.assign {origin = "conditional"} %{{.*}} -> !mpmd.mesh_tensor<"a"
  // LITTLE:     mpmd.assign {origin = "conditional"} %{{.*}} -> !mpmd.mesh_tensor<"b"
  %read = mpmd.assign {origin = "stage"} %w : (!t) -> !b
  %g0 = mpmd.unassign %g : (!a) -> !t
  %number = mpmd.unassign %n : (!n) -> !s
  %all = stablehlo.broadcast_in_dim %number, dims = [] : (!s) -> !t
  %g1 = stablehlo.multiply %all, %w : !t
  %r:2 = "stablehlo.if"(%ok) ({
    %0 = stablehlo.add %m0, %g0 : !t
    %1 = stablehlo.add %m1, %g1 : !t
    stablehlo.return %0, %1 : !t, !t
  }, {
    stablehlo.return %m0, %m1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %read, %r#0, %r#1 : !b, !t, !t
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// A scalar product costs what a sum does.
// CHECK-LABEL: func @hoists_scalar_products
// LITTLE-LABEL: func @hoists_scalar_products
func.func @hoists_scalar_products(%ok: tensor<i1>, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      %[[U0:.*]] = mpmd.unassign %arg1
  // CHECK:      %[[U1:.*]] = mpmd.unassign %arg2
  // CHECK:      %[[D0:.*]] = stablehlo.dot_general %[[U0]], %[[U0]]
  // CHECK:      %[[D1:.*]] = stablehlo.dot_general %[[U1]], %[[U1]]
  // CHECK:      stablehlo.add %[[D0]], %[[D1]]
  // CHECK:      "stablehlo.if"(%arg0)
  // CHECK:      "stablehlo.if"(%arg0)
  // LITTLE-COUNT-2: stablehlo.dot_general
  // LITTLE:         "stablehlo.if"(%arg0)
  // LITTLE:         "stablehlo.if"(%arg0)
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    %d0 = stablehlo.dot_general %u0, %u0, contracting_dims = [0] x [0] : (!t, !t) -> !s
    %d1 = stablehlo.dot_general %u1, %u1, contracting_dims = [0] x [0] : (!t, !t) -> !s
    %d = stablehlo.add %d0, %d1 : !s
    %all = stablehlo.broadcast_in_dim %d, dims = [] : (!s) -> !t
    %0 = stablehlo.divide %u0, %all : !t
    %1 = stablehlo.divide %u1, %all : !t
    stablehlo.return %0, %1 : !t, !t
  }, {
    stablehlo.return %u0, %u1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
!m = tensor<4x4xf32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// Of what is common a part of its own gives the number; each part broadcasts it.
// CHECK-LABEL: func @broadcasts_numbers_in_each_part
func.func @broadcasts_numbers_in_each_part(%ok: tensor<i1>, %k: !m, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      %[[N:.*]] = "stablehlo.if"(%arg0)
  // CHECK:      stablehlo.dot %arg1
  // CHECK:      }) : (tensor<i1>) -> tensor<f32>
  // CHECK:      "stablehlo.if"(%arg0)
  // CHECK-NEXT:   stablehlo.broadcast_in_dim
  // CHECK:      "stablehlo.if"(%arg0)
  // CHECK-NEXT:   stablehlo.broadcast_in_dim
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    %d = stablehlo.dot %k, %u0 : (!m, !t) -> !t
    %n = stablehlo.dot %d, %u0 : (!t, !t) -> !s
    %all = stablehlo.broadcast_in_dim %n, dims = [] : (!s) -> !t
    %0 = stablehlo.add %u0, %all : !t
    %1 = stablehlo.add %u1, %all : !t
    stablehlo.return %0, %1 : !t, !t
  }, {
    stablehlo.return %u0, %u1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
!m = tensor<4x4xf32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// What costs much is hoisted where a sum of both meshes is made of it, as both would be
// sent to a part of its own.
// CHECK-LABEL: func @hoists_costly_sums_of_several_meshes
// LITTLE-LABEL: func @hoists_costly_sums_of_several_meshes
func.func @hoists_costly_sums_of_several_meshes(%ok: tensor<i1>, %k: !m, %w0: !a, %w1: !b) -> (!t, !t) attributes {topology = #topology} {
  // CHECK:      "stablehlo.if"(%arg0)
  // CHECK:      stablehlo.dot %arg1
  // LITTLE:     %[[U0:.*]] = mpmd.unassign %arg2
  // LITTLE:     %[[U1:.*]] = mpmd.unassign %arg3
  // LITTLE-NOT: stablehlo.if
  // LITTLE:     %[[D0:.*]] = stablehlo.dot %arg1, %[[U0]]
  // LITTLE:     %[[D1:.*]] = stablehlo.dot %arg1, %[[U1]]
  // LITTLE:     %[[N0:.*]] = stablehlo.dot %[[D0]], %[[D0]]
  // LITTLE:     %[[N1:.*]] = stablehlo.dot %[[D1]], %[[D1]]
  // LITTLE:     stablehlo.add %[[N0]], %[[N1]]
  // LITTLE:     "stablehlo.if"(%arg0)
  // LITTLE-NOT: stablehlo.dot
  // LITTLE:     return
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %r:2 = "stablehlo.if"(%ok) ({
    %d0 = stablehlo.dot %k, %u0 : (!m, !t) -> !t
    %d1 = stablehlo.dot %k, %u1 : (!m, !t) -> !t
    %n0 = stablehlo.dot %d0, %d0 : (!t, !t) -> !s
    %n1 = stablehlo.dot %d1, %d1 : (!t, !t) -> !s
    %n = stablehlo.add %n0, %n1 : !s
    %all = stablehlo.broadcast_in_dim %n, dims = [] : (!s) -> !t
    %0 = stablehlo.divide %d0, %all : !t
    %1 = stablehlo.divide %d1, %all : !t
    stablehlo.return %0, %1 : !t, !t
  }, {
    stablehlo.return %u0, %u1 : !t, !t
  }) : (tensor<i1>) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
!m = tensor<3x4xf32>
!i = tensor<1xi32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// One index is sorted and unique whatever it is, so that what is written there may be
// hoisted.
// LITTLE-LABEL: func @hoists_writes_at_one_index
func.func @hoists_writes_at_one_index(%ok: tensor<i1>, %i: !i, %m0: !m, %w0: !a, %w1: !b) -> (!t, !t, !m) attributes {topology = #topology} {
  // LITTLE-NOT: stablehlo.if
  // LITTLE:     %[[W:.*]] = "stablehlo.scatter"
  // LITTLE:     stablehlo.reduce(%[[W]]
  // LITTLE:     "stablehlo.if"(%arg0)
  %u0 = mpmd.unassign %w0 : (!a) -> !t
  %u1 = mpmd.unassign %w1 : (!b) -> !t
  %zero = stablehlo.constant dense<0.0> : !s
  %r:3 = "stablehlo.if"(%ok) ({
    %m = "stablehlo.scatter"(%m0, %i, %u0) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%old: !s, %new: !s):
      stablehlo.return %new : !s
    }) : (!m, !i, !t) -> !m
    %n0 = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0, 1] : (!m, !s) -> !s
    %n1 = stablehlo.reduce(%u1 init: %zero) applies stablehlo.add across dimensions = [0] : (!t, !s) -> !s
    %n = stablehlo.add %n0, %n1 : !s
    %all = stablehlo.broadcast_in_dim %n, dims = [] : (!s) -> !t
    %0 = stablehlo.divide %u0, %all : !t
    %1 = stablehlo.divide %u1, %all : !t
    stablehlo.return %0, %1, %m : !t, !t, !m
  }, {
    stablehlo.return %u0, %u1, %m0 : !t, !t, !m
  }) : (tensor<i1>) -> (!t, !t, !m)
  return %r#0, %r#1, %r#2 : !t, !t, !m
}
