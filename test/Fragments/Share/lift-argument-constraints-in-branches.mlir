// RUN: mpmd-opt %s --mpmd-lift-argument-constraints | FileCheck %s
// RUN: mpmd-opt %s --mpmd-lift-argument-constraints --sdy-propagation-pipeline=avoid-export-for-partitioning --mpmd-unshare-bodies > %t.lifted
// RUN: mpmd-opt %s --mpmd-unshare-bodies --sdy-propagation-pipeline=avoid-export-for-partitioning > %t.own
// RUN: diff %t.lifted %t.own

// Of constraints in several branches the first moves to right after the argument, as it does
// where the ops are in the fragment.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!p = !mpmd.mesh_tensor<"m", tensor<i1>>
sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @main
// CHECK: mpmd.fragment
// CHECK-NEXT: sdy.sharding_constraint
// CHECK-LABEL: func private @body
// CHECK-NEXT: stablehlo.if
// CHECK-NEXT: stablehlo.return %arg0
// CHECK-NEXT: }, {
// CHECK-NEXT: %[[C:.*]] = sdy.sharding_constraint %arg0 <@mesh, [{"x"}]>
// CHECK-NEXT: stablehlo.return %[[C]]
func.func @main(%arg0: !m, %arg1: !p) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1) (%a: tensor<4xf32>, %p: tensor<i1>) {
    %1 = stablehlo.custom_call @mpmd.shared_body(%a, %p) {called_computations = [@body]} : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!m, !p) -> !m
  return %0 : !m
}
func.func private @body(%a: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %0 = "stablehlo.if"(%p) ({
    %1 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %1 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %s = stablehlo.sine %0 : tensor<4xf32>
  return %s : tensor<4xf32>
}
