// RUN: mpmd-opt %s -mpmd-infer-mesh-pipeline=infer-transfers=true | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @value_is_transferred_where_it_leaves_its_mesh
func.func @value_is_transferred_where_it_leaves_its_mesh(%p: !m1) -> !m2 attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[F]]
  // CHECK-NEXT: %[[G:.*]] = mpmd.fragment<mesh="m2", origin=[]> (%[[T]])
  // CHECK-NEXT:   stablehlo.negate
  // CHECK:      return %[[G]]
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%p) (%x: !t) {
    %2 = stablehlo.sine %x : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  %u = mpmd.unassign {origin = "f"} %f : (!m1) -> !t
  %0 = stablehlo.negate %u : !t
  %1 = mpmd.assign %0 : (!t) -> !m2
  return %1 : !m2
}

// CHECK-LABEL: func @sum_across_meshes_is_a_reduction
// CHECK-SAME:    (%[[P:.*]]: !mpmd.mesh_tensor<"m1", tensor<4xf32>>, %[[Q:.*]]: !mpmd.mesh_tensor<"m2", tensor<4xf32>>)
func.func @sum_across_meshes_is_a_reduction(%p: !m1, %q: !m2) -> !m2 attributes {topology = #topology} {
  // CHECK:      %[[T:.*]] = mpmd.transfer {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: mpmd.fragment<mesh="m2", origin=[]> (%[[T]], %{{.*}}) {mpmd.inferred_by = ["infer_mesh_convert_reduce_ops"]}
  // CHECK-NEXT:   stablehlo.add
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%p) (%x: !t) {
    %2 = stablehlo.sine %x : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m2", origin=["g"]> (%q) (%x: !t) {
    %2 = stablehlo.sine %x : !t
    mpmd.return %2 : !t
  } : (!m2) -> !m2
  %u = mpmd.unassign %f : (!m1) -> !t
  %v = mpmd.unassign %g : (!m2) -> !t
  %0 = stablehlo.add %v, %u : !t
  %1 = mpmd.assign %0 : (!t) -> !m2
  return %1 : !m2
}
