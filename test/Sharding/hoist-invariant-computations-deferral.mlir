// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations=with-deferral=true | FileCheck %s
// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations | FileCheck %s --check-prefix=ALONE
// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations=with-deferral=true -mpmd-defer-reductions | FileCheck %s --check-prefix=DEFERRED

!w = !mpmd.mesh_tensor<"m", tensor<4x6xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
!y = !mpmd.mesh_tensor<"m", tensor<8x6xf32>>

sdy.mesh @g = <["d"=2, "t"=2]>

// The sum over rows is scaled by twice the weight, which the devices of these rows split.
// The axis of the other dimension splits the parts as well, and stays.
// CHECK-LABEL: func @scaled
// CHECK: %[[H:.*]] = mpmd.fragment<mesh="m", origin=["hoisted"], in_shardings=[<@g, [{"d"}, {"t"}]>], out_shardings=[<@g, [{}, {"t"}]>]> (%arg0)
// CHECK: %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"], {{.*}} (%arg0, %arg1, %arg2, %[[H]])
// CHECK: stablehlo.multiply %{{.*}}, %{{.*}} {sdy.sharding
// CHECK: mpmd.fragment<mesh="m", origin=["f"], {{.*}} (%arg0, %arg3, %arg4, %[[F]], %[[H]])
// ALONE-LABEL: func @scaled
// ALONE: mpmd.fragment<mesh="m", origin=["hoisted"], in_shardings=[<@g, [{"d"}, {"t"}]>], out_shardings=[<@g, [{"d"}, {"t"}]>]> (%arg0)
// DEFERRED-LABEL: func @scaled
// DEFERRED: mpmd.fragment<mesh="m", origin=["f"], {{.*}}out_shardings=[<@g, [{"d"}, {}, {"t"}]>]>
// DEFERRED: %[[FACTOR:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}, {"t"}]>]>} : (tensor<4x6xf32>) -> tensor<2x4x6xf32>
// DEFERRED-NEXT: stablehlo.multiply %{{.*}}, %[[FACTOR]]
// DEFERRED: mpmd.fragment<mesh="m", origin=["h"]
// DEFERRED: stablehlo.reduce{{.*}}across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>}
func.func @scaled(%w: !w {sdy.sharding = #sdy.sharding<@g, [{"d"}, {"t"}]>}, %x: !x, %y: !y, %z: !x, %u: !y) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2, "t"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {"t"}]>, <@g, [{"d"}, {}]>, <@g, [{"d"}, {"t"}]>], out_shardings=[<@g, [{"d"}, {"t"}]>]>
      (%w, %x, %y) (%a: tensor<4x6xf32>, %b: tensor<8x4xf32>, %c: tensor<8x6xf32>) {
    %two = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : tensor<4x6xf32>
    %d = stablehlo.dot_general %b, %c, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %e = stablehlo.multiply %d, %two {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : tensor<4x6xf32>
    mpmd.return %e : tensor<4x6xf32>
  } : (!w, !x, !y) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {"t"}]>, <@g, [{"d"}, {}]>, <@g, [{"d"}, {"t"}]>, <@g, [{"d"}, {"t"}]>], out_shardings=[<@g, [{"d"}, {"t"}]>]>
      (%w, %z, %u, %0) (%a: tensor<4x6xf32>, %b: tensor<8x4xf32>, %c: tensor<8x6xf32>, %s: tensor<4x6xf32>) {
    %two = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : tensor<4x6xf32>
    %d = stablehlo.dot_general %b, %c, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %e = stablehlo.multiply %d, %two {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : tensor<4x6xf32>
    %f = stablehlo.add %s, %e {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : tensor<4x6xf32>
    mpmd.return %f : tensor<4x6xf32>
  } : (!w, !x, !y, !w) -> !w
  %2 = mpmd.fragment<mesh="m", origin=["h"], in_shardings=[<@g, [{"d"}, {"t"}]>, <@g, [{"d"}, {"t"}]>], out_shardings=[<@g, [{"d"}, {"t"}]>]>
      (%w, %1) (%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) {
    %d = stablehlo.subtract %a, %b : tensor<4x6xf32>
    mpmd.return %d : tensor<4x6xf32>
  } : (!w, !w) -> !w
  return %2 : !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x6xf32>>
!y = !mpmd.mesh_tensor<"m", tensor<4x6xf32>>

sdy.mesh @g = <["d"=2]>

// What scales something that is no sum over devices is needed as it is.
// CHECK-LABEL: func @no_sum
// CHECK-NOT: out_shardings=[<@g, [{}, {}]>]
// CHECK: return
func.func @no_sum(%w: !w {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}, %y: !y) -> (!w, !w) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>], out_shardings=[<@g, [{"d"}, {}]>]>
      (%w, %y) (%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) {
    %e = stablehlo.multiply %b, %a {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : tensor<4x6xf32>
    mpmd.return %e : tensor<4x6xf32>
  } : (!w, !y) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>], out_shardings=[<@g, [{"d"}, {}]>]>
      (%w, %0) (%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) {
    %e = stablehlo.multiply %b, %a {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : tensor<4x6xf32>
    mpmd.return %e : tensor<4x6xf32>
  } : (!w, !w) -> !w
  return %0, %1 : !w, !w
}
