// RUN: mpmd-opt %s --mpmd-lift-argument-constraints | FileCheck %s
// RUN: mpmd-opt %s --mpmd-lift-argument-constraints --mpmd-sink-argument-constraints | FileCheck %s --check-prefix=BACK
// RUN: mpmd-opt %s --sdy-propagation-pipeline=avoid-export-for-partitioning --mpmd-unshare-bodies > %t.not-lifted
// RUN: mpmd-opt %s --mpmd-lift-argument-constraints --sdy-propagation-pipeline=avoid-export-for-partitioning --mpmd-unshare-bodies > %t.lifted
// RUN: mpmd-opt %s --mpmd-unshare-bodies --sdy-propagation-pipeline=avoid-export-for-partitioning > %t.own
// RUN: diff %t.lifted %t.own
// RUN: not diff %t.not-lifted %t.own

// What closes the sharding of an argument is one of the fragment, where it is the only
// demand of the argument, where the argument has no sharding yet, and where nothing else
// in the fragment reads it: the third fragment gets its ops back, the fourth, which has
// shardings as the first has not, does so, too.

!m = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=2]>>>
sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func @main
// CHECK: mpmd.fragment<mesh="m", origin=["f"]>
// CHECK-NEXT: %[[C:.*]] = sdy.sharding_constraint %[[A:.*]] <@mesh, [{"x"}, {}]>
// CHECK-NEXT: custom_call @mpmd.shared_body(%[[C]], %{{.*}}, %{{.*}}) {called_computations = [@body]
// CHECK: mpmd.fragment<mesh="m", origin=["f"]>
// CHECK-NEXT: sdy.sharding_constraint
// CHECK-NEXT: custom_call @mpmd.shared_body
// CHECK: mpmd.fragment<mesh="m", origin=["twice"]>
// CHECK-NEXT: sdy.sharding_constraint {{.*}} <@mesh, [{"x"}, {}]>
// CHECK-NEXT: sdy.sharding_constraint {{.*}} <@mesh, [{"y"}, {}]>
// CHECK: mpmd.fragment<mesh="m", origin=["known"], in_shardings
// CHECK-NEXT: sdy.sharding_constraint
// CHECK: func private @body(%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>, %[[Z:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[D:.*]] = sdy.sharding_constraint %[[Y]] <@mesh, [{"y"}, {}]>
// CHECK-NEXT: %[[E:.*]] = sdy.sharding_constraint %[[Y]] <@mesh, [{}, {"y"}]>
// CHECK-NEXT: %[[O:.*]] = sdy.sharding_constraint %[[Z]] <@mesh, [{"x", ?}, {}]>
// CHECK-NEXT: stablehlo.add %[[X]], %[[D]]

// BACK-LABEL: func @main
// BACK: mpmd.fragment<mesh="m", origin=["f"]>
// BACK-NEXT: custom_call @mpmd.shared_body(%{{.*}}, %{{.*}}, %{{.*}}) {called_computations = [@body]
// BACK: func private @body(%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<4x8xf32>)
// BACK-NEXT: %[[C:.*]] = sdy.sharding_constraint %[[X]] <@mesh, [{"x"}, {}]>
// BACK-NEXT: %[[D:.*]] = sdy.sharding_constraint %[[Y]]
// BACK: stablehlo.add %[[C]], %[[D]]
func.func @main(%arg0: !m, %arg1: !m {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, %arg2: !m) -> (!m, !m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1, %arg2) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a, %b, %c) {called_computations = [@body], has_side_effect = true} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m, !m, !m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0, %arg1, %arg0) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a, %b, %c) {called_computations = [@body], has_side_effect = true} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m, !m, !m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["twice"]> (%1, %arg1) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a, %a, %b) {called_computations = [@body], has_side_effect = true} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m, !m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["known"], in_shardings=[<@mesh, [{?}, {?}]>, <@mesh, [{?}, {?}]>, <@mesh, [{?}, {?}]>]> (%2, %arg1, %arg2) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a, %b, %c) {called_computations = [@body], has_side_effect = true} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m, !m, !m) -> !m
  return %0, %1, %2, %3 : !m, !m, !m, !m
}
func.func private @body(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {mpmd.shared_body} {
  %d = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
  %e = sdy.sharding_constraint %b <@mesh, [{"y"}, {}]> : tensor<4x8xf32>
  %f = sdy.sharding_constraint %b <@mesh, [{}, {"y"}]> : tensor<4x8xf32>
  %g = sdy.sharding_constraint %c <@mesh, [{"x", ?}, {}]> : tensor<4x8xf32>
  %h = stablehlo.add %d, %e : tensor<4x8xf32>
  %i = stablehlo.add %a, %f : tensor<4x8xf32>
  %j = stablehlo.add %h, %i : tensor<4x8xf32>
  %k = stablehlo.add %j, %g : tensor<4x8xf32>
  return %k : tensor<4x8xf32>
}
