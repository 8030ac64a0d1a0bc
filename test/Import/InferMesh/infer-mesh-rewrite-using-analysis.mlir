// RUN: mpmd-opt %s -mpmd-infer-mesh-rewrite-using-analysis | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
!m10 = !mpmd.mesh_tensor<"m10", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>, <"m10": <["x"=2]>>>
#m2m1 = #mpmd.meshes_with_origins<"m2", "m1">

// CHECK-LABEL: func @op_moves_into_its_only_fragment
// CHECK-SAME:    (%[[P:.*]]: tensor<4xf32>)
func.func @op_moves_into_its_only_fragment(%p: !t) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign %[[P]]
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%[[A]]) (%[[X:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.constant
  // CHECK-NEXT:   %[[M:.*]] = stablehlo.multiply %[[X]], %[[C]] {kept} : tensor<4xf32>
  // CHECK-NEXT:   stablehlo.sine %[[M]]
  %c = stablehlo.constant dense<2.0> : !t
  %0 = stablehlo.multiply %p, %c {kept, mpmd.src_set = #m2m1, mpmd.use_set = #m2m1} : !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%1) (%x: !t) {
    %3 = stablehlo.sine %x : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @op_is_wrapped_once_per_mesh_in_mesh_order
// CHECK-SAME:    (%[[P:.*]]: tensor<4xf32>)
func.func @op_is_wrapped_once_per_mesh_in_mesh_order(%p: !t) -> (!m10, !m2, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A2:.*]] = mpmd.assign %[[P]] {{.*}}"m2"
  // CHECK-NEXT: %[[F2:.*]] = mpmd.fragment<mesh="m2", origin=[]> (%[[A2]]) {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]}
  // CHECK:      %[[U2:.*]] = mpmd.unassign %[[F2]]
  // CHECK-NEXT: %[[A10:.*]] = mpmd.assign %[[P]] {{.*}}"m10"
  // CHECK-NEXT: %[[F10:.*]] = mpmd.fragment<mesh="m10"
  // CHECK:      %[[U10:.*]] = mpmd.unassign %[[F10]]
  // CHECK-NEXT: %[[X:.*]] = mpmd.assign %[[U10]]
  // CHECK-NEXT: %[[Y:.*]] = mpmd.assign %[[U2]]
  // CHECK-NEXT: %[[Z:.*]] = mpmd.assign %[[U2]]
  // CHECK-NEXT: return %[[X]], %[[Y]], %[[Z]]
  %0 = stablehlo.sine %p : !t
  %1 = mpmd.assign %0 : (!t) -> !m10
  %2 = mpmd.assign %0 : (!t) -> !m2
  %3 = mpmd.assign %0 : (!t) -> !m2
  return %1, %2, %3 : !m10, !m2, !m2
}

// CHECK-LABEL: func @trivial_op_is_cloned_into_many_fragments
func.func @trivial_op_is_cloned_into_many_fragments(%p: !t) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.assign {{.*}}"m1"
  // CHECK-NEXT: mpmd.fragment<mesh="m1"
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   stablehlo.negate
  // CHECK:      mpmd.assign {{.*}}"m2"
  // CHECK-NEXT: mpmd.fragment<mesh="m2"
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   stablehlo.cosine
  %0 = stablehlo.sine %p : !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%1) (%x: !t) {
    %5 = stablehlo.negate %x : !t
    mpmd.return %5 : !t
  } : (!m1) -> !m1
  %3 = mpmd.assign %0 : (!t) -> !m2
  %4 = mpmd.fragment<mesh="m2", origin=[]> (%3) (%x: !t) {
    %5 = stablehlo.cosine %x : !t
    mpmd.return %5 : !t
  } : (!m2) -> !m2
  return %2, %4 : !m1, !m2
}

// CHECK-LABEL: func @op_with_two_operands_is_wrapped_beyond_the_limit
func.func @op_with_two_operands_is_wrapped_beyond_the_limit(%p: !t) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.assign
  // CHECK-NEXT: mpmd.fragment<mesh="m1", {{.*}}"infer_mesh_wrap_meshless_ops"
  // CHECK-NEXT:   stablehlo.add
  %0 = stablehlo.add %p, %p : !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%1) (%x: !t) {
    mpmd.return %x : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=[]> (%1) (%x: !t) {
    mpmd.return %x : !t
  } : (!m1) -> !m1
  return %2, %3 : !m1, !m1
}

// CHECK-LABEL: func @unused_assign_makes_a_fragment_of_its_own
func.func @unused_assign_makes_a_fragment_of_its_own(%p: !t) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.assign
  // CHECK-NEXT: mpmd.fragment<mesh="m2"
  // CHECK:      mpmd.assign {origin = "inferred_unused"}
  %0 = stablehlo.sine %p : !t
  %1 = mpmd.assign {origin = "inferred_unused"} %0 : (!t) -> !m2
  return
}

// The first product is absorbed last, so its operands end up last.
// CHECK-LABEL: func @operands_of_absorbed_ops_are_appended
// CHECK-SAME:    (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>)
func.func @operands_of_absorbed_ops_are_appended(%a: !t, %b: !t, %c: !t) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[AB:.*]] = mpmd.assign %[[B]]
  // CHECK-NEXT: %[[AC:.*]] = mpmd.assign %[[C]]
  // CHECK-NEXT: %[[AA:.*]] = mpmd.assign %[[A]]
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%[[AB]], %[[AC]], %[[AA]])
  %0 = stablehlo.power %c, %a : !t
  %1 = stablehlo.power %0, %b : !t
  %2 = mpmd.assign %1 : (!t) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @captured_values_come_before_operands_when_absorbed
// CHECK-SAME:    (%[[I:.*]]: tensor<i32>, %[[P:.*]]: tensor<4xf32>)
func.func @captured_values_come_before_operands_when_absorbed(%i: tensor<i32>, %p: !t) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[AP:.*]] = mpmd.assign %[[P]]
  // CHECK-NEXT: %[[AI:.*]] = mpmd.assign %[[I]]
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%[[AP]], %[[AI]]) (%[[X:.*]]: tensor<4xf32>, %[[J:.*]]: tensor<i32>) {
  // CHECK-NEXT:   "stablehlo.case"(%[[J]])
  // CHECK-NEXT:     stablehlo.sine %[[X]]
  %0 = "stablehlo.case"(%i) ({
    %4 = stablehlo.sine %p : !t
    stablehlo.return %4 : !t
  }) : (tensor<i32>) -> !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%1) (%x: !t) {
    mpmd.return %x : !t
  } : (!m1) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @call_gets_copies_of_operands_and_results
// CHECK-SAME:    (%[[P:.*]]: tensor<4xf32>)
func.func @call_gets_copies_of_operands_and_results(%p: !t) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign %[[P]] {{.*}}"m1"
  // CHECK-NEXT: %[[B:.*]] = mpmd.assign %[[P]] {{.*}}"m2"
  // CHECK-NEXT: %[[R:.*]]:2 = mpmd.call @copies(%[[A]], %[[B]]) {call_counter = 2 : ui32}
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign %[[R]]#0
  // CHECK-NEXT: %[[V:.*]] = mpmd.unassign %[[R]]#1
  // CHECK-NEXT: %[[X:.*]] = mpmd.assign %[[V]] {{.*}}"m1"
  // CHECK-NEXT: %[[Y:.*]] = mpmd.assign %[[U]] {{.*}}"m2"
  // CHECK-NEXT: return %[[X]], %[[Y]]
  %0 = mpmd.call @copies(%p) {call_counter = 2 : ui32} : (!t) -> !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.assign %0 : (!t) -> !m2
  return %1, %2 : !m1, !m2
}

// CHECK-LABEL: func private @copies
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>> {mpmd.copies = array<i64: 1>}, %[[Q:.*]]: !mpmd.mesh_tensor<"m2", tensor<4xf32>>)
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m2", tensor<4xf32>> {mpmd.copies = array<i64: 1>, mpmd.use_set = #mpmd.meshes_with_origins<"m2", "m1">}, !mpmd.mesh_tensor<"m1", tensor<4xf32>>)
func.func private @copies(%p: !t) -> (!t {mpmd.use_set = #m2m1}) attributes {topology = #topology} {
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign %[[P]]
  // CHECK-NEXT: %[[V:.*]] = mpmd.unassign %[[Q]]
  // CHECK-NEXT: mpmd.assign %[[U]]
  // CHECK-NEXT: mpmd.fragment<mesh="m1"
  // CHECK:      mpmd.assign %[[V]]
  // CHECK-NEXT: mpmd.fragment<mesh="m2"
  %0 = stablehlo.sine %p : !t
  return %0 : !t
}

// CHECK-LABEL: func @loop_is_placed_on_one_mesh
// CHECK-SAME:    (%[[P:.*]]: tensor<4xf32>)
func.func @loop_is_placed_on_one_mesh(%p: !t) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign %[[P]]
  // CHECK-NEXT: %[[F:.*]] = mpmd.for (%[[A]]) {iterations = 2 : ui32} (%[[X:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>>, %{{.*}}: tensor<ui32>) {
  // CHECK-NEXT:   mpmd.unassign %[[X]]
  // CHECK:      mpmd.unassign %[[F]]
  %0 = mpmd.for (%p) {arg_attrs = [{mpmd.use_set = #mpmd.meshes_with_origins<"m1">}, {}], iterations = 2 : ui32} (%x: !t, %index: tensor<ui32>) {
    %2 = stablehlo.sine %x {mpmd.use_set = #mpmd.meshes_with_origins<"m1">} : !t
    mpmd.return %2 : !t
  } : !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @returned_loop_results_are_on_their_meshes
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m1", tensor<4xf32>>, !mpmd.mesh_tensor<"m2", tensor<4xf32>>)
func.func @returned_loop_results_are_on_their_meshes(%a: !m1, %b: !m2) -> (!t, !t) attributes {topology = #topology} {
  // CHECK: %[[F:.*]]:2 = mpmd.for
  // CHECK: return %[[F]]#0, %[[F]]#1 : !mpmd.mesh_tensor<"m1", tensor<4xf32>>, !mpmd.mesh_tensor<"m2", tensor<4xf32>>
  %p = mpmd.unassign %a : (!m1) -> !t
  %q = mpmd.unassign %b : (!m2) -> !t
  %0:2 = mpmd.for (%p, %q) {iterations = 2 : ui32} (%x: !t, %y: !t, %index: tensor<ui32>) {
    %1 = stablehlo.sine %x {mpmd.use_set = #mpmd.meshes_with_origins<"m1">} : !t
    %2 = stablehlo.sine %y {mpmd.use_set = #mpmd.meshes_with_origins<"m2">} : !t
    mpmd.return %1, %2 : !t, !t
  } : !t, !t
  return %0#0, %0#1 : !t, !t
}

// CHECK-LABEL: func @op_of_which_only_the_token_is_read_is_on_the_first_mesh
func.func @op_of_which_only_the_token_is_read_is_on_the_first_mesh(%a: !m2, %p: !stablehlo.token) -> !m2 attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]]:2 = mpmd.fragment<mesh="m1", origin=[]>
  // CHECK-NEXT:   stablehlo.custom_call
  // CHECK:      mpmd.fragment<mesh="m2", origin=["f"]> (%{{.*}}, %[[F]]#1)
  %0:2 = stablehlo.custom_call @both(%p) {has_side_effect = true} : (!stablehlo.token) -> (!t, !stablehlo.token)
  %1 = mpmd.fragment<mesh="m2", origin=["f"]> (%a, %0#1) (%x: !t, %y: !stablehlo.token) {
    mpmd.return %x : !t
  } : (!m2, !stablehlo.token) -> !m2
  return %1 : !m2
}

// What copies there are is found out here.
// CHECK-LABEL: func @copies_that_are_said_to_be_there
func.func @copies_that_are_said_to_be_there(%p: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: mpmd.call @without_copies(%{{.*}}) : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
  %0 = mpmd.unassign %p : (!m1) -> !t
  %1 = mpmd.call @without_copies(%0) : (!t) -> !t
  %2 = mpmd.assign %1 : (!t) -> !m1
  return %2 : !m1
}
// CHECK:     func private @without_copies(%{{[a-z0-9]*}}: !mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func private @without_copies(%p: !t {mpmd.copies = array<i64: 1000000>}) -> (!t {mpmd.copies = array<i64: 99>}) attributes {topology = #topology} {
  return %p : !t
}
