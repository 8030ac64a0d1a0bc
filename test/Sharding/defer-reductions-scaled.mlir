// RUN: mpmd-opt %s -split-input-file -mpmd-defer-reductions | FileCheck %s
// RUN: mpmd-opt %s -split-input-file -mpmd-defer-reductions -remarks-filter=.* -remark-policy=all -remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2, "t"=2]>

// The derivative of a squared and masked weight is a partial sum times what all
// devices of "d" have; "t" splits both alike.
// CHECK-LABEL: func @squared_and_masked
// CHECK:       mpmd.fragment<mesh="m", origin=["f"]{{.*}} out_shardings=[<@g, [{"d"}, {}, {"t"}]>]>
// CHECK-SAME:    (%{{.*}}: tensor<8x4xf32>, %[[W:.*]]: tensor<4x4xf32>, %{{.*}}: tensor<2x4x4xf32>)
// CHECK:         %[[DOT:.*]] = stablehlo.dot_general {{.*}} -> tensor<2x4x4xf32>
// CHECK:         %[[EACH:.*]] = stablehlo.broadcast_in_dim %[[W]], dims = [1, 2] {{.*}}<@g, [{"d"}, {}, {"t"}]>{{.*}} : (tensor<4x4xf32>) -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[SCALED:.*]] = stablehlo.multiply %[[EACH]], %[[DOT]]
// CHECK:         %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<2x4x4xf32>
// CHECK:         %[[MASK:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [1, 2] {{.*}} : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
// CHECK-NEXT:    %[[MASKED:.*]] = stablehlo.select %[[MASK]], %[[SCALED]], %[[ZERO]]
// CHECK:         stablehlo.divide %[[MASKED]]
// CHECK:         stablehlo.add {{.*}} : tensor<2x4x4xf32>
// CHECK:       mpmd.fragment<mesh="m", origin=["g"]
// CHECK:         stablehlo.reduce{{.*}} across dimensions = [0]
func.func @squared_and_masked(%x: !x, %w: !w, %acc: !w) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2, "t"=2]>>>} {
  %z = mpmd.fragment<mesh="m", origin=["z"], in_shardings=[], out_shardings=[<@g, [{}, {"t"}]>]> () () {
    %0 = sdy.constant dense<0.0> : tensor<4x4xf32>
    mpmd.return %0 : tensor<4x4xf32>
  } : () -> !w
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {"t"}]>, <@g, [{}, {"t"}]>], out_shardings=[<@g, [{}, {"t"}]>]>
      (%x, %w, %z) (%a: tensor<8x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) {
    %zero = sdy.constant dense<0.0> : tensor<4x4xf32>
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"t"}]>]>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.multiply %b, %d {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"t"}]>]>} : tensor<4x4xf32>
    %p = stablehlo.compare GT, %b, %zero {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"t"}]>]>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %f = stablehlo.select %p, %e, %zero {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"t"}]>]>} : tensor<4x4xi1>, tensor<4x4xf32>
    %h = stablehlo.divide %f, %b {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"t"}]>]>} : tensor<4x4xf32>
    %s = stablehlo.add %c, %h {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"t"}]>]>} : tensor<4x4xf32>
    mpmd.return %s : tensor<4x4xf32>
  } : (!x, !w, !w) -> !w
  %f1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {"t"}]>], out_shardings=[<@g, [{}, {"t"}]>]>
      (%x, %0) (%a: tensor<8x4xf32>, %c: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"t"}]>]>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.add %c, %d {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"t"}]>]>} : tensor<4x4xf32>
    mpmd.return %s : tensor<4x4xf32>
  } : (!x, !w) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{}, {"t"}]>], out_shardings=[<@g, [{}, {"t"}]>]>
      (%f1) (%a: tensor<4x4xf32>) {
    %t = stablehlo.tanh %a : tensor<4x4xf32>
    mpmd.return %t : tensor<4x4xf32>
  } : (!w) -> !w
  return %1 : !w
}
// WHY: remark: [Passed] deferred{{.*}}Reductions=2, ReductionsLeft=1

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// A weight that the same devices split would have to be gathered for it; what is
// chosen in place of a part has to be nothing.
// CHECK-LABEL: func @split_or_chosen
// CHECK-NOT:   tensor<2x4x4
func.func @split_or_chosen(%x: !x, %w: !w) -> (!w, !w) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>]>
      (%x, %w) (%a: tensor<8x4xf32>, %b: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.multiply %d, %b : tensor<4x4xf32>
    %one = sdy.constant dense<1.0> : tensor<4x4xf32>
    %p = sdy.constant dense<true> : tensor<i1>
    %h = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %f = stablehlo.select %p, %h, %one : tensor<i1>, tensor<4x4xf32>
    mpmd.return %e, %f : tensor<4x4xf32>, tensor<4x4xf32>
  } : (!x, !w) -> (!w, !w)
  %1:2 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{}, {}]>, <@g, [{}, {}]>]>
      (%0#0, %0#1) (%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) {
    %s = stablehlo.add %a, %a : tensor<4x4xf32>
    %t = stablehlo.add %b, %b : tensor<4x4xf32>
    mpmd.return %s, %t : tensor<4x4xf32>, tensor<4x4xf32>
  } : (!w, !w) -> (!w, !w)
  return %1#0, %1#1 : !w, !w
}
// WHY: remark: [Missed] not deferred{{.*}}at once: stablehlo.multiply multiplies by a value that the same devices split
// WHY: remark: [Missed] not deferred{{.*}}at once: stablehlo.select is not linear in the sum
