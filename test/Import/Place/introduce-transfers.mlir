// RUN: mpmd-opt %s -mpmd-introduce-transfers -split-input-file | FileCheck %s

!t = tensor<9xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<9xf32>>
!m1_host = !mpmd.mesh_tensor<"m1", tensor<9xf32>, memory_kind="pinned_host">
!m2 = !mpmd.mesh_tensor<"m2", tensor<9xf32>>
!m10 = !mpmd.mesh_tensor<"m10", tensor<9xf32>>
#topology = #mpmd.topology<<"m1": <["d"=3]>>, <"m2": <["d"=3]>>, <"m10": <["d"=3]>>>

// CHECK-LABEL: func @cancels_pair_of_one_type
func.func @cancels_pair_of_one_type(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: return %arg0
  %u = mpmd.unassign %x : (!m1) -> !t
  %a = mpmd.assign %u : (!t) -> !m1
  return %a : !m1
}

// CHECK-LABEL: func @transfers_to_other_mesh_in_place_of_assign
func.func @transfers_to_other_mesh_in_place_of_assign(%x: !m1, %y: !t) -> (!m2, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg0 : ({{.*}}"m1"{{.*}}) -> {{.*}}"m2"
  // CHECK-NEXT: return %[[T]], %[[N]]
  %u = mpmd.unassign {origin = "f"} %x : (!m1) -> !t
  %n = stablehlo.negate %y : !t
  %a = mpmd.assign {origin = "g"} %u : (!t) -> !m2
  return %a, %n : !m2, !t
}

// CHECK-LABEL: func @transfers_to_other_memory_kind
func.func @transfers_to_other_memory_kind(%x: !m1) -> !m1_host attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer %arg0 : {{.*}} -> !mpmd.mesh_tensor<"m1", tensor<9xf32>, memory_kind="pinned_host">
  %u = mpmd.unassign %x : (!m1) -> !t
  %a = mpmd.assign %u : (!t) -> !m1_host
  return %a : !m1_host
}

// CHECK-LABEL: func @chains_meshes_by_trailing_number
func.func @chains_meshes_by_trailing_number(%x: !m1) -> (!m10, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T2:.*]] = mpmd.transfer %arg0 : {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: %[[T10:.*]] = mpmd.transfer %[[T2]] : {{.*}} -> !mpmd.mesh_tensor<"m10"
  // CHECK-NEXT: return %[[T10]], %[[T2]]
  %u = mpmd.unassign %x : (!m1) -> !t
  %a = mpmd.assign %u : (!t) -> !m10
  %b = mpmd.assign %u : (!t) -> !m2
  return %a, %b : !m10, !m2
}

// CHECK-LABEL: func @sends_once_to_mesh_assigned_twice
func.func @sends_once_to_mesh_assigned_twice(%x: !m1) -> (!m2, !m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T2:.*]] = mpmd.transfer %arg0
  // CHECK-NEXT: return %[[T2]], %arg0, %[[T2]]
  %u = mpmd.unassign %x : (!m1) -> !t
  %a = mpmd.assign %u : (!t) -> !m2
  %b = mpmd.assign %u : (!t) -> !m1
  %c = mpmd.assign %u : (!t) -> !m2
  return %a, %b, %c : !m2, !m1, !m2
}

// CHECK-LABEL: func @reuses_transfer_of_separate_unassign
func.func @reuses_transfer_of_separate_unassign(%x: !m1, %y: !t) -> (!m2, !m2, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg0
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate
  // CHECK-NEXT: return %[[T]], %[[T]], %[[N]]
  %u = mpmd.unassign %x : (!m1) -> !t
  %a = mpmd.assign %u : (!t) -> !m2
  %n = stablehlo.negate %y : !t
  %v = mpmd.unassign %x : (!m1) -> !t
  %b = mpmd.assign %v : (!t) -> !m2
  return %a, %b, %n : !m2, !m2, !t
}

// CHECK-LABEL: func @moves_existing_transfer_up
func.func @moves_existing_transfer_up(%x: !m1, %y: !t) -> (!m2, !m2, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer {kept} %arg0
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate
  // CHECK-NEXT: return %[[T]], %[[T]], %[[N]]
  %u = mpmd.unassign %x : (!m1) -> !t
  %a = mpmd.assign %u : (!t) -> !m2
  %n = stablehlo.negate %y : !t
  %b = mpmd.transfer {kept} %x : (!m1) -> !m2
  return %a, %b, %n : !m2, !m2, !t
}

// CHECK-LABEL: func @keeps_cycle
func.func @keeps_cycle(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg0
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer %[[T]]
  // CHECK-NEXT: return %[[B]]
  %u = mpmd.unassign %x : (!m1) -> !t
  %a = mpmd.assign %u : (!t) -> !m2
  %v = mpmd.unassign %a : (!m2) -> !t
  %b = mpmd.assign %v : (!t) -> !m1
  return %b : !m1
}

// CHECK-LABEL: func @leaves_first_assign_and_last_unassign_of_plain_value
func.func @leaves_first_assign_and_last_unassign_of_plain_value(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign {origin = "s"} %arg0
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign {origin = "t"} %[[A]]
  // CHECK-NEXT: return %[[U]]
  %a = mpmd.assign {origin = "s"} %x : (!t) -> !m1
  %u = mpmd.unassign {origin = "s"} %a : (!m1) -> !t
  %b = mpmd.assign {origin = "t"} %u : (!t) -> !m1
  %v = mpmd.unassign {origin = "t"} %b : (!m1) -> !t
  return %v : !t
}

// CHECK-LABEL: func @computes_sum_where_it_is_assigned
func.func @computes_sum_where_it_is_assigned(%x: !m1, %y: !m2) -> !m2 attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg0
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m2", origin=[]> (%[[T]], %arg1) {mpmd.inferred_by = ["introduce_transfers"]} (%[[A:.*]]: tensor<9xf32>, %[[B:.*]]: tensor<9xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %[[A]], %[[B]] {kept}
  // CHECK-NEXT:   mpmd.return %[[S]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[F]]
  %u = mpmd.unassign %x : (!m1) -> !t
  %v = mpmd.unassign %y : (!m2) -> !t
  %s = stablehlo.add %u, %v {kept} : !t
  %r = mpmd.assign %s : (!t) -> !m2
  return %r : !m2
}

// CHECK-LABEL: func @computes_nested_sum_add_by_add
func.func @computes_nested_sum_add_by_add(%x: !m1, %y: !m2, %z: !m10) -> !m2 attributes {topology = #topology} {
  // CHECK-NEXT: %[[TX:.*]] = mpmd.transfer %arg0
  // CHECK-NEXT: %[[F0:.*]] = mpmd.fragment<mesh="m2", origin=[]> (%[[TX]], %arg1)
  // CHECK:      %[[TZ:.*]] = mpmd.transfer %arg2
  // CHECK-NEXT: %[[F1:.*]] = mpmd.fragment<mesh="m2", origin=[]> (%[[F0]], %[[TZ]])
  // CHECK:      return %[[F1]]
  %u = mpmd.unassign %x : (!m1) -> !t
  %v = mpmd.unassign %y : (!m2) -> !t
  %w = mpmd.unassign %z : (!m10) -> !t
  %s0 = stablehlo.add %u, %v : !t
  %s1 = stablehlo.add %s0, %w : !t
  %r = mpmd.assign %s1 : (!t) -> !m2
  return %r : !m2
}

// CHECK-LABEL: func @assigns_repeated_term_once
func.func @assigns_repeated_term_once(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%arg0) {{.*}} (%[[A:.*]]: tensor<9xf32>) {
  // CHECK-NEXT:   stablehlo.add %[[A]], %[[A]]
  %u = mpmd.unassign %x : (!m1) -> !t
  %s = stablehlo.add %u, %u : !t
  %r = mpmd.assign %s : (!t) -> !m1
  return %r : !m1
}

// CHECK-LABEL: func @leaves_sum_with_other_term_alone
func.func @leaves_sum_with_other_term_alone(%x: !m1, %y: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NOT: mpmd.fragment
  // CHECK:     mpmd.assign
  %u = mpmd.unassign %x : (!m1) -> !t
  %v = mpmd.unassign %y : (!m1) -> !t
  %n = stablehlo.negate %v : !t
  %s0 = stablehlo.add %u, %v : !t
  %s1 = stablehlo.add %s0, %n : !t
  %r = mpmd.assign %s1 : (!t) -> !m1
  return %r : !m1
}

// CHECK-LABEL: func @leaves_sum_used_twice_alone
func.func @leaves_sum_used_twice_alone(%x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.unassign
  // CHECK-NEXT: stablehlo.add
  // CHECK-NEXT: mpmd.assign
  // CHECK-NEXT: mpmd.assign
  %u = mpmd.unassign %x : (!m1) -> !t
  %s = stablehlo.add %u, %u : !t
  %r = mpmd.assign %s : (!t) -> !m1
  %q = mpmd.assign %s : (!t) -> !m2
  return %r, %q : !m1, !m2
}

// CHECK-LABEL: func @leaves_assign_in_loop_alone
func.func @leaves_assign_in_loop_alone(%x: !m1, %y: !m2) -> !m2 attributes {topology = #topology} {
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign
  // CHECK-NEXT: mpmd.for
  // CHECK-NEXT:   mpmd.assign %[[U]]
  %u = mpmd.unassign %x : (!m1) -> !t
  %0 = mpmd.for (%y) {iterations = 2 : ui32} (%z: !m2, %index: tensor<ui32>) {
    %a = mpmd.assign %u : (!t) -> !m2
    mpmd.return %a : !m2
  } : !m2
  return %0 : !m2
}

// -----

!t = tensor<9xf32>
!a = !mpmd.mesh_tensor<"a", tensor<9xf32>>
!a_host = !mpmd.mesh_tensor<"a", tensor<9xf32>, memory_kind="pinned_host">
!b = !mpmd.mesh_tensor<"b", tensor<9xf32>>
#topology = #mpmd.topology<<"a": <["d"=3]>>, <"b": <["d"=3]>>>

// CHECK-LABEL: func @calls_from_one_mesh
func.func @calls_from_one_mesh(%x: !a_host, %y: !a) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[UX:.*]] = mpmd.unassign %arg0
  // CHECK-NEXT: %[[UY:.*]] = mpmd.unassign %arg1
  // CHECK-NEXT: mpmd.call @pushes_assigns_into_callee(%[[UX]], %[[UY]])
  %u = mpmd.unassign %x : (!a_host) -> !t
  %v = mpmd.unassign %y : (!a) -> !t
  %0:2 = mpmd.call @pushes_assigns_into_callee(%u, %v) : (!t, !t) -> (!t, !t)
  %1:2 = mpmd.call @pushes_assigns_into_callee(%v, %0#1) : (!t, !t) -> (!t, !t)
  return %1#0, %1#1 : !t, !t
}

// The second result is the one that the second call passes on: it comes from a.
// CHECK-LABEL: func private @pushes_assigns_into_callee
func.func private @pushes_assigns_into_callee(%x: !t, %y: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[AY:.*]] = mpmd.assign %arg1 : (tensor<9xf32>) -> !mpmd.mesh_tensor<"a", tensor<9xf32>>
  // CHECK-NEXT: %[[AX:.*]] = mpmd.assign %arg0 : (tensor<9xf32>) -> !mpmd.mesh_tensor<"a", tensor<9xf32>, memory_kind="pinned_host">
  // CHECK-NEXT: %[[UX:.*]] = mpmd.unassign %[[AX]]
  // CHECK-NEXT: %[[TX:.*]] = mpmd.transfer %[[AX]] : {{.*}} -> !mpmd.mesh_tensor<"b"
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="a", origin=["f"]> (%[[AY]])
  // CHECK:      %[[UF:.*]] = mpmd.unassign %[[F]]
  // CHECK:      %[[UB:.*]] = mpmd.unassign %[[TX]]
  // CHECK-NEXT: stablehlo.add %[[UX]], %[[UB]]
  %ax = mpmd.assign %x : (!t) -> !b
  %ay = mpmd.assign %y : (!t) -> !a
  %f = mpmd.fragment<mesh="a", origin=["f"]> (%ay) (%z: !t) {
    mpmd.return %z : !t
  } : (!a) -> !a
  %uf = mpmd.unassign %f : (!a) -> !t
  %ub = mpmd.unassign %ax : (!b) -> !t
  %s = stablehlo.add %x, %ub : !t
  return %s, %uf : !t, !t
}

// -----

!t = tensor<9xf32>
!a = !mpmd.mesh_tensor<"a", tensor<9xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<9xf32>>
#topology = #mpmd.topology<<"a": <["d"=3]>>, <"b": <["d"=3]>>>

// CHECK-LABEL: func @calls_from_two_meshes
func.func @calls_from_two_meshes(%x: !a, %y: !b, %z: !t) -> (!b, !b) attributes {topology = #topology} {
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign %arg0
  // CHECK-NEXT: %[[V:.*]] = mpmd.unassign %arg1
  // CHECK-NEXT: %[[C:.*]]:2 = mpmd.call {{.*}}(%[[U]], %arg2, %[[U]])
  // CHECK-NEXT: %[[D:.*]]:2 = mpmd.call {{.*}}(%[[V]], %arg2, %[[U]])
  // CHECK-NEXT: return %[[C]]#0, %[[D]]#1
  %u = mpmd.unassign %x : (!a) -> !t
  %v = mpmd.unassign %y : (!b) -> !t
  %0:2 = mpmd.call @leaves_callee_alone_without_common_mesh(%u, %z, %u) : (!t, !t, !t) -> (!b, !b)
  %1:2 = mpmd.call @leaves_callee_alone_without_common_mesh(%v, %z, %u) : (!t, !t, !t) -> (!b, !b)
  return %0#0, %1#1 : !b, !b
}

// Nor is an argument pushed that nothing assigns.
// CHECK-LABEL: func private @leaves_callee_alone_without_common_mesh
func.func private @leaves_callee_alone_without_common_mesh(%x: !t, %y: !t, %z: !t) -> (!b, !b) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign %arg0
  // CHECK-NEXT: %[[S:.*]] = stablehlo.add %arg1, %arg2
  // CHECK-NEXT: %[[B:.*]] = mpmd.assign %[[S]]
  // CHECK-NEXT: return %[[A]], %[[B]]
  %a = mpmd.assign %x : (!t) -> !b
  %s = stablehlo.add %y, %z : !t
  %b = mpmd.assign %s : (!t) -> !b
  return %a, %b : !b, !b
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func public @leaves_callees_on_other_meshes_alone
func.func public @leaves_callees_on_other_meshes_alone(%x: !m1) -> !t attributes {topology = #topology} {
  %0 = mpmd.unassign %x : (!m1) -> !t
  %1 = mpmd.call @f(%0) : (!t) -> !t
  return %1 : !t
}
// CHECK: func private @f
// CHECK-NEXT: mpmd.assign %arg0 : (tensor<4xf32>) -> !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func private @f(%x: !t) -> !t attributes {topology = #mpmd.topology<<"m2": <["x"=2]>>>} {
  %1 = mpmd.assign %x : (!t) -> !m2
  %2 = mpmd.unassign %1 : (!m2) -> !t
  return %2 : !t
}

// CHECK-LABEL: func public @leaves_sums_in_branches_alone
func.func public @leaves_sums_in_branches_alone(%x: !m1, %i: tensor<i32>) attributes {topology = #topology} {
  // CHECK: "stablehlo.case"(%arg1) ({
  // CHECK-NEXT: stablehlo.add
  %0 = mpmd.unassign %x : (!m1) -> !t
  "stablehlo.case"(%i) ({
    %s = stablehlo.add %0, %0 : !t
    mpmd.for () {iterations = 2 : ui32} (%idx: tensor<ui32>) {
      %1 = mpmd.assign %s : (!t) -> !m1
      mpmd.fragment<mesh="m1", origin=["f"]> (%1) (%a: !t) {
        stablehlo.custom_call @act(%a) {has_side_effect = true} : (!t) -> ()
        mpmd.return
      } : (!m1) -> ()
      mpmd.return
    }
    stablehlo.return
  }) : (tensor<i32>) -> ()
  return
}
