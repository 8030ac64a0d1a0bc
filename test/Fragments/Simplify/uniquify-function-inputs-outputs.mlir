// RUN: mpmd-opt %s -mpmd-uniquify-function-inputs-outputs | FileCheck %s
// RUN: mpmd-opt %s -mpmd-uniquify-function-inputs-outputs=use-transfer-instead-of-fragment=true | FileCheck %s --check-prefix=TRANSFER

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>, sharding=<@mesh, [{"x"}]>, memory_kind="device">
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @copies_arguments_and_repeated_values
// CHECK-SAME:    (%[[X:.*]]: !mpmd
// TRANSFER-LABEL: func @copies_arguments_and_repeated_values
// TRANSFER-SAME:    (%[[X:.*]]: !mpmd
func.func @copies_arguments_and_repeated_values(%x: !m1) -> (!m1, !m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK:      %[[F:.*]]:2 = mpmd.fragment<mesh="m1", origin=["h"]>
  // CHECK:      %[[U:.*]]:3 = mpmd.fragment<mesh="m1", origin=[]> (%[[F]]#0, %[[X]]) {mpmd.inferred_by = ["uniquify"]} (%[[P:.*]]: tensor<4xf32>, %[[Q:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   mpmd.return %[[P]], %[[P]], %[[Q]]
  // CHECK:      return %[[U]]#0, %[[U]]#2, %[[U]]#1, %[[F]]#1
  // TRANSFER:      %[[F:.*]]:2 = mpmd.fragment<mesh="m1", origin=["h"]>
  // TRANSFER:      %[[T0:.*]] = mpmd.transfer %[[X]] : ([[T:.*]]) -> [[T]]
  // TRANSFER-NEXT: %[[T1:.*]] = mpmd.transfer %[[F]]#0
  // TRANSFER-NEXT: return %[[F]]#0, %[[T0]], %[[T1]], %[[F]]#1
  %f:2 = mpmd.fragment<mesh="m1", origin=["h"]> (%x) (%p: !l) {
    %r = stablehlo.abs %p : !l
    %s = stablehlo.sine %p : !l
    mpmd.return %r, %s : !l, !l
  } : (!m1) -> (!m1, !m1)
  return %f#0, %x, %f#0, %f#1 : !m1, !m1, !m1, !m1
}

// Meshes in order of first appearance; types are kept.
// CHECK-LABEL: func @groups_by_mesh
// CHECK-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"m1"{{.*}}, %[[Y:.*]]: !mpmd.mesh_tensor<"m2"
// TRANSFER-LABEL: func @groups_by_mesh
// TRANSFER-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"m1"{{.*}}, %[[Y:.*]]: !mpmd.mesh_tensor<"m2"
func.func @groups_by_mesh(%x: !m1, %y: !m2) -> (!m2, !m1, !m2, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[B:.*]]:2 = mpmd.fragment<mesh="m2", origin=[]> (%[[Y]])
  // CHECK:      } : ([[T:.*]]) -> ([[T]], [[T]])
  // CHECK-NEXT: %[[A:.*]]:2 = mpmd.fragment<mesh="m1", origin=[]> (%[[X]])
  // CHECK:      return %[[B]]#0, %[[A]]#0, %[[B]]#1, %[[A]]#1
  // TRANSFER-NEXT: %[[A:.*]] = mpmd.transfer %[[Y]]
  // TRANSFER-NEXT: %[[B:.*]] = mpmd.transfer %[[X]]
  // TRANSFER-NEXT: %[[C:.*]] = mpmd.transfer %[[Y]]
  // TRANSFER-NEXT: %[[D:.*]] = mpmd.transfer %[[X]]
  // TRANSFER-NEXT: return %[[A]], %[[B]], %[[C]], %[[D]]
  return %y, %x, %y, %x : !m2, !m1, !m2, !m1
}

// CHECK-LABEL: func @leaves_unique_values_alone
// TRANSFER-LABEL: func @leaves_unique_values_alone
func.func @leaves_unique_values_alone(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-COUNT-1: mpmd.fragment
  // CHECK-NOT:     mpmd.fragment
  // CHECK:         return
  // TRANSFER-NOT:  mpmd.transfer
  // TRANSFER:      return
  %f:2 = mpmd.fragment<mesh="m1", origin=["h"]> (%x) (%p: !l) {
    %r = stablehlo.abs %p : !l
    mpmd.return %r, %r : !l, !l
  } : (!m1) -> (!m1, !m1)
  return %f#0, %f#1 : !m1, !m1
}

// CHECK-LABEL: func private @acts_on_callees
// TRANSFER-LABEL: func private @acts_on_callees
func.func private @acts_on_callees(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: mpmd.fragment
  // TRANSFER: mpmd.transfer
  return %x : !m1
}

// CHECK-LABEL: func @leaves_functions_without_topology_alone
// TRANSFER-LABEL: func @leaves_functions_without_topology_alone
func.func @leaves_functions_without_topology_alone(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  // CHECK-NEXT: return
  // TRANSFER-NEXT: return
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func @leaves_other_uses_alone
// CHECK-SAME:    (%[[X:.*]]: !mpmd
// TRANSFER-LABEL: func @leaves_other_uses_alone
// TRANSFER-SAME:    (%[[X:.*]]: !mpmd
func.func @leaves_other_uses_alone(%x: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK:      %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  // CHECK:      %[[G:.*]] = mpmd.fragment<mesh="m1", origin=["g"]> (%[[F]])
  // CHECK:      %[[U:.*]]:2 = mpmd.fragment<mesh="m1", origin=[]> (%[[F]]) {{.*}} (%[[P:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   mpmd.return %[[P]], %[[P]]
  // CHECK:      return %[[U]]#0, %[[G]], %[[U]]#1
  // TRANSFER:      %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  // TRANSFER:      %[[G:.*]] = mpmd.fragment<mesh="m1", origin=["g"]> (%[[F]])
  // TRANSFER:      %[[T:.*]] = mpmd.transfer %[[F]]
  // TRANSFER-NEXT: return %[[F]], %[[G]], %[[T]]
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%p: !l) {
    mpmd.return %p : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"]> (%f) (%p: !l) {
    mpmd.return %p : !l
  } : (!m1) -> !m1
  return %f, %g, %f : !m1, !m1, !m1
}

// CHECK-LABEL: func @leaves_functions_without_results_alone
// TRANSFER-LABEL: func @leaves_functions_without_results_alone
func.func @leaves_functions_without_results_alone(%x: !m1) attributes {topology = #topology} {
  // CHECK-NEXT: return
  // TRANSFER-NEXT: return
  return
}

// CHECK-LABEL: func private @skips_declarations
// CHECK-SAME:    attributes {topology = #mpmd.topology<{{[^{}]*}}>}{{$}}
func.func private @skips_declarations(!m1) -> !m1 attributes {topology = #topology}

// From where attributes say the host, no transfer may be.
// TRANSFER-LABEL: func @copies_from_the_host_with_a_fragment
// TRANSFER-NEXT:    mpmd.fragment<mesh="m1", origin=[]>
func.func @copies_from_the_host_with_a_fragment(%x: !m1 {mhlo.memory_kind = "pinned_host"}) -> !m1 attributes {topology = #topology} {
  return %x : !m1
}
