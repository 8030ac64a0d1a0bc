// RUN: mpmd-opt %s --sdy-propagation-pipeline=avoid-export-for-partitioning | FileCheck %s
// RUN: mpmd-opt %s --sdy-propagation-pipeline=avoid-export-for-partitioning --mpmd-unshare-bodies > %t.shared
// RUN: mpmd-opt %s --mpmd-unshare-bodies --sdy-propagation-pipeline=avoid-export-for-partitioning > %t.own
// RUN: diff %t.shared %t.own

// Shardings flow around the loops and through the branches of a shared body, for each
// fragment apart: what one has by its operand, another has by its result, and a third by
// a constraint in the loop alone. Where they end alike there is one body.

!m = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
!f = !mpmd.mesh_tensor<"m", tensor<i1>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=2]>>>
sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func @main
// CHECK: origin=["forward"], in_shardings=[<@mesh, [{"x"}, {"y"}]>, {{.*}}], out_shardings=[<@mesh, [{"x"}, {"y"}]>]
// CHECK-NEXT: called_computations = [@[[XY:.*]]]
// CHECK: origin=["backward"], in_shardings=[<@mesh, [{"x"}, {"y"}]>, {{.*}}], out_shardings=[<@mesh, [{"x"}, {"y"}]>]
// CHECK-NEXT: called_computations = [@[[XY]]]
// CHECK: origin=["alone"], in_shardings=[<@mesh, [{}, {"y"}]>, {{.*}}], out_shardings=[<@mesh, [{}, {"y"}]>]
// CHECK-NEXT: called_computations = [@[[Y:.*]]]
// CHECK: func private @[[XY]]
// CHECK: stablehlo.while{{.*}} attributes {sdy.sharding = #sdy.sharding_per_value<[{{.*}}, <@mesh, [{"x"}, {"y"}]>]>}
// CHECK: stablehlo.case
// CHECK: sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>
// CHECK: func private @[[Y]]
// CHECK: stablehlo.while{{.*}} attributes {sdy.sharding = #sdy.sharding_per_value<[{{.*}}, <@mesh, [{}, {"y"}]>]>}
func.func @main(%arg0: !m {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, %arg1: !m, %arg2: !m, %arg3: !mpmd.mesh_tensor<"m", tensor<i32>>)
    -> (!m, !m {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["forward"]> (%arg0, %arg3) (%a: tensor<4x8xf32>, %b: tensor<i32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@body], has_side_effect = true} : (tensor<4x8xf32>, tensor<i32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m, !mpmd.mesh_tensor<"m", tensor<i32>>) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["backward"]> (%arg1, %arg3) (%a: tensor<4x8xf32>, %b: tensor<i32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@body], has_side_effect = true} : (tensor<4x8xf32>, tensor<i32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m, !mpmd.mesh_tensor<"m", tensor<i32>>) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["alone"]> (%arg2, %arg3) (%a: tensor<4x8xf32>, %b: tensor<i32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@body], has_side_effect = true} : (tensor<4x8xf32>, tensor<i32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m, !mpmd.mesh_tensor<"m", tensor<i32>>) -> !m
  return %0, %1, %2 : !m, !m, !m
}
func.func private @body(%a: tensor<4x8xf32>, %b: tensor<i32>) -> tensor<4x8xf32> attributes {mpmd.shared_body} {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4x8xf32>
  cond {
    %p = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.sine %x : tensor<4x8xf32>
    %c = sdy.sharding_constraint %s <@mesh, [{?}, {"y", ?}]> : tensor<4x8xf32>
    stablehlo.return %n, %c : tensor<i32>, tensor<4x8xf32>
  }
  %r = "stablehlo.case"(%b) ({
    %t = stablehlo.cosine %w#1 : tensor<4x8xf32>
    stablehlo.return %t : tensor<4x8xf32>
  }, {
    %t = stablehlo.tanh %w#1 : tensor<4x8xf32>
    stablehlo.return %t : tensor<4x8xf32>
  }) : (tensor<i32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
