// RUN: mpmd-opt %s -mpmd-infer-mesh-pipeline | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @places_what_a_loop_carries
// CHECK-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"m2", tensor<4xf32>>, %[[Y:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>>)
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m2", tensor<4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4xf32>>)
func.func @places_what_a_loop_carries(%x: !t, %y: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[LOOP:.*]]:2 = mpmd.for (%[[X]], %[[Y]]) {iterations = 3 : ui32}
  // CHECK-SAME:   (%[[A:.*]]: !mpmd.mesh_tensor<"m2", tensor<4xf32>>, %[[B:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>>, %index: tensor<ui32>)
  // CHECK-NEXT:   %[[F:.*]] = mpmd.fragment<mesh="m2", origin=["f"]> (%[[A]])
  // CHECK-NEXT:     stablehlo.sine
  // CHECK-NEXT:     stablehlo.abs
  // CHECK:        %[[G:.*]] = mpmd.fragment<mesh="m1", origin=[]> (%[[B]]) {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]}
  // CHECK-NEXT:     stablehlo.add
  // CHECK:        mpmd.return %[[F]], %[[G]] : !mpmd.mesh_tensor<"m2", tensor<4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4xf32>>
  // CHECK:      return %[[LOOP]]#0, %[[LOOP]]#1
  %0:2 = mpmd.for (%x, %y) {iterations = 3 : ui32} (%a: !t, %b: !t, %index: tensor<ui32>) {
    %1 = stablehlo.sine %a : !t
    %2 = mpmd.assign %1 : (!t) -> !m2
    %3 = mpmd.fragment<mesh="m2", origin=["f"]> (%2) (%c: !t) {
      %6 = stablehlo.abs %c : !t
      mpmd.return %6 : !t
    } : (!m2) -> !m2
    %4 = mpmd.unassign %3 : (!m2) -> !t
    %5 = stablehlo.add %b, %b : !t
    mpmd.return %4, %5 : !t, !t
  } : !t, !t
  return %0#0, %0#1 : !t, !t
}

// A group has no result. It goes to the mesh where its tensor is available, in a
// fragment of its own, and the tensor is not computed twice for it.
// CHECK-LABEL: func @places_sharding_groups_with_their_tensor
// CHECK-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"m2", tensor<4xf32>>)
func.func @places_sharding_groups_with_their_tensor(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: %[[SINE:.*]] = mpmd.fragment<mesh="m2", origin=[]> (%[[X]]) {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]}
  // CHECK-NEXT:   stablehlo.sine
  // CHECK:      mpmd.fragment<mesh="m2", origin=[]> (%[[SINE]]) {mpmd.inferred_by = ["infer_mesh_wrap_resultless_ops"]} (%[[A:.*]]: tensor
  // CHECK-NEXT:   sdy.sharding_group %[[A]] group_id=3
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: } : (!mpmd.mesh_tensor<"m2", tensor<4xf32>>) -> ()
  // CHECK-NEXT: return %[[SINE]]
  %0 = stablehlo.sine %x : !t
  sdy.sharding_group %0 group_id=3 : !t
  %1 = mpmd.assign {origin = "f"} %0 : (!t) -> !m2
  %2 = mpmd.unassign {origin = "f"} %1 : (!m2) -> !t
  return %2 : !t
}

// CHECK-LABEL: func @repeats_sharding_groups_on_every_mesh_of_their_tensor
func.func @repeats_sharding_groups_on_every_mesh_of_their_tensor(%x: !t) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK:     mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {mpmd.inferred_by = ["infer_mesh_wrap_resultless_ops"]}
  // CHECK:     mpmd.fragment<mesh="m2", origin=[]> (%{{.*}}) {mpmd.inferred_by = ["infer_mesh_wrap_resultless_ops"]}
  sdy.sharding_group %x group_id=5 : !t
  %0 = mpmd.assign %x : (!t) -> !m1
  %1 = mpmd.assign %x : (!t) -> !m2
  return %0, %1 : !m1, !m2
}
