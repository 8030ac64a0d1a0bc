// RUN: mpmd-opt %s -split-input-file -mpmd-defer-reductions | FileCheck %s
// RUN: mpmd-opt %s -split-input-file -mpmd-defer-reductions -remarks-filter=.* -remark-policy=all -remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

!w = !mpmd.mesh_tensor<"m", tensor<4x6xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
!y = !mpmd.mesh_tensor<"m", tensor<8x6xf32>>

sdy.mesh @g = <["d"=2, "t"=2]>

// Two microbatches; the last fragment reads the sum.
// CHECK-LABEL: func @sum_of_two
func.func @sum_of_two(%w: !w, %x: !x, %y: !y) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2, "t"=2]>>>} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"], {{.*}}out_shardings=[<@g, [{"d"}, {}, {"t"}]>]>
  // CHECK-NEXT: %[[X:.*]] = stablehlo.reshape %{{.*}}<@g, [{"d"}, {}, {}]>{{.*}} -> tensor<2x4x4xf32>
  // CHECK-NEXT: %[[Y:.*]] = stablehlo.reshape %{{.*}}<@g, [{"d"}, {}, {"t"}]>{{.*}} -> tensor<2x4x6xf32>
  // CHECK-NEXT: %[[DOT:.*]] = stablehlo.dot_general %[[X]], %[[Y]], batching_dims = [0] x [0], contracting_dims = [1] x [1] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}, {"t"}]>]>}
  // CHECK-NEXT: mpmd.return %[[DOT]] : tensor<2x4x6xf32>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {"t"}]>], out_shardings=[<@g, [{"d"}, {"t"}]>]>
      (%x, %y) (%a: tensor<8x4xf32>, %b: tensor<8x6xf32>) {
    %d = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    mpmd.return %d : tensor<4x6xf32>
  } : (!x, !y) -> !w
  // CHECK: mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {"t"}]>, <@g, [{"d"}, {}, {"t"}]>]
  // CHECK: %[[DOT:.*]] = stablehlo.dot_general
  // CHECK: %[[HALF:.*]] = stablehlo.constant dense<5.000000e-01> : tensor<2x4x6xf32>
  // CHECK-NEXT: %[[SCALED:.*]] = stablehlo.multiply %[[DOT]], %[[HALF]]
  // CHECK-NEXT: stablehlo.add %{{.*}}, %[[SCALED]] {{.*}} : tensor<2x4x6xf32>
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {"t"}]>, <@g, [{"d"}, {"t"}]>], out_shardings=[<@g, [{"d"}, {"t"}]>]>
      (%x, %y, %0) (%a: tensor<8x4xf32>, %b: tensor<8x6xf32>, %c: tensor<4x6xf32>) {
    %d = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %half = sdy.constant dense<0.5> : tensor<4x6xf32>
    %e = stablehlo.multiply %d, %half {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : tensor<4x6xf32>
    %s = stablehlo.add %c, %e {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>} : tensor<4x6xf32>
    mpmd.return %s : tensor<4x6xf32>
  } : (!x, !y, !w) -> !w
  // CHECK: mpmd.fragment<mesh="m", origin=["h"], in_shardings=[<@g, [{"d"}, {"t"}]>, <@g, [{"d"}, {}, {"t"}]>]
  // CHECK-SAME: (%[[W:arg[0-9]+]]: tensor<4x6xf32>, %[[S:arg[0-9]+]]: tensor<2x4x6xf32>)
  // CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[S]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {"t"}]>]>}
  // CHECK-NEXT: stablehlo.subtract %[[W]], %[[SUM]]
  %2 = mpmd.fragment<mesh="m", origin=["h"], in_shardings=[<@g, [{"d"}, {"t"}]>, <@g, [{"d"}, {"t"}]>], out_shardings=[<@g, [{"d"}, {"t"}]>]>
      (%w, %1) (%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) {
    %d = stablehlo.subtract %a, %b : tensor<4x6xf32>
    mpmd.return %d : tensor<4x6xf32>
  } : (!w, !w) -> !w
  return %2 : !w
}
// WHY: remark: [Passed] deferred{{.*}}Reductions=2, ReductionsLeft=1

// -----

!b = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xbf16>>

sdy.mesh @g = <["d"=2]>

// A sum that begins with zeros of another fragment, shapes that change on the
// way, and a wider type.
// CHECK-LABEL: func @zeros_and_shapes
func.func @zeros_and_shapes(%x: !x) -> !b attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: mpmd.fragment<mesh="m", origin=["z"]
  // CHECK: %[[ZERO:.*]] = stablehlo.constant {{.*}}dense<0.000000e+00> : tensor<2x4xf32>
  // CHECK-NEXT: mpmd.return %[[ZERO]] : tensor<2x4xf32>
  %0 = mpmd.fragment<mesh="m", origin=["z"], in_shardings=[], out_shardings=[<@g, [{"d"}]>]> () () {
    %z = sdy.constant dense<0.0> : tensor<4xf32>
    mpmd.return %z : tensor<4xf32>
  } : () -> !b
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [1] {{.*}} : (tensor<2x4x4xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  // CHECK-NEXT: stablehlo.reshape {{.*}} -> tensor<2x1x4xbf16>
  // CHECK-NEXT: stablehlo.transpose %{{.*}}, dims = [0, 2, 1] {{.*}} -> tensor<2x4x1xbf16>
  // CHECK-NEXT: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [2]
  // CHECK-NEXT: stablehlo.convert {{.*}} -> tensor<2x4xf32>
  // CHECK-NEXT: stablehlo.add {{.*}} : tensor<2x4xf32>
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}]>], out_shardings=[<@g, [{"d"}]>]>
      (%x, %0) (%a: tensor<8x4xbf16>, %acc: tensor<4xf32>) {
    %z = sdy.constant dense<0.0> : tensor<bf16>
    %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x4xbf16>, tensor<bf16>) -> tensor<4xbf16>
    %s = stablehlo.reshape %r : (tensor<4xbf16>) -> tensor<1x4xbf16>
    %t = stablehlo.transpose %s, dims = [1, 0] : (tensor<1x4xbf16>) -> tensor<4x1xbf16>
    %u = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x1xbf16>, tensor<bf16>) -> tensor<4xbf16>
    %c = stablehlo.convert %u : (tensor<4xbf16>) -> tensor<4xf32>
    %n = stablehlo.add %acc, %c : tensor<4xf32>
    mpmd.return %n : tensor<4xf32>
  } : (!x, !b) -> !b
  // CHECK: mpmd.fragment<mesh="m", origin=["g"]
  %2 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}]>], out_shardings=[<@g, [{"d"}]>]>
      (%x, %1) (%a: tensor<8x4xbf16>, %acc: tensor<4xf32>) {
    %z = sdy.constant dense<0.0> : tensor<bf16>
    %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x4xbf16>, tensor<bf16>) -> tensor<4xbf16>
    %c = stablehlo.convert %r : (tensor<4xbf16>) -> tensor<4xf32>
    %n = stablehlo.add %acc, %c : tensor<4xf32>
    mpmd.return %n : tensor<4xf32>
  } : (!x, !b) -> !b
  // CHECK: mpmd.fragment<mesh="m", origin=["h"]
  // CHECK: %[[N:.*]] = stablehlo.add {{.*}} : tensor<2x4xf32>
  // CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[N]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: mpmd.return %[[SUM]]
  %3 = mpmd.fragment<mesh="m", origin=["h"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}]>], out_shardings=[<@g, [{"d"}]>]>
      (%x, %2) (%a: tensor<8x4xbf16>, %acc: tensor<4xf32>) {
    %z = sdy.constant dense<0.0> : tensor<bf16>
    %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x4xbf16>, tensor<bf16>) -> tensor<4xbf16>
    %c = stablehlo.convert %r : (tensor<4xbf16>) -> tensor<4xf32>
    %n = stablehlo.add %acc, %c : tensor<4xf32>
    mpmd.return %n : tensor<4xf32>
  } : (!x, !b) -> !b
  return %3 : !b
}
