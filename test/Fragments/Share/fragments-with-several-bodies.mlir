// RUN: mpmd-opt %s --mpmd-lift-argument-constraints | FileCheck %s
// RUN: mpmd-opt %s --mpmd-sink-argument-constraints | FileCheck %s
// RUN: mpmd-opt %s --mpmd-share-bodies=min-ops=1 | FileCheck %s
// RUN: mpmd-opt %s --mpmd-unshare-bodies | FileCheck %s

// A fragment with several calls of shared bodies gets the ops of all of them back at
// once. What is found of one body may not hold on to calls that go with another.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @gives_ops_of_several_bodies_back
// CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%[[A:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[C:.*]] = sdy.sharding_constraint %[[A]] <@mesh, [{"x"}]>
// CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[C]]
// CHECK-NEXT: %[[D:.*]] = sdy.sharding_constraint %[[S]] <@mesh, [{"x"}]>
// CHECK-NEXT: %[[T:.*]] = stablehlo.sine %[[D]]
// CHECK-NEXT: %[[E:.*]] = sdy.sharding_constraint %[[T]] <@mesh, [{"x"}]>
// CHECK-NEXT: %[[U:.*]] = stablehlo.cosine %[[E]]
// CHECK-NEXT: mpmd.return %[[T]], %[[U]]
// CHECK-NOT: mpmd.shared_body
func.func @gives_ops_of_several_bodies_back(%arg0: !m) -> (!m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@sine]} : (tensor<4xf32>) -> tensor<4xf32>
    %t = stablehlo.custom_call @mpmd.shared_body(%s) {called_computations = [@sine]} : (tensor<4xf32>) -> tensor<4xf32>
    %u = stablehlo.custom_call @mpmd.shared_body(%t) {called_computations = [@cosine]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %t, %u : tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}
func.func private @sine(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %c = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
  %s = stablehlo.sine %c : tensor<4xf32>
  return %s : tensor<4xf32>
}
func.func private @cosine(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %c = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
  %s = stablehlo.cosine %c : tensor<4xf32>
  return %s : tensor<4xf32>
}
