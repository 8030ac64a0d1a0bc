// RUN: mpmd-opt %s -split-input-file -mpmd-defer-reductions | FileCheck %s

// What no machine runs, and what jaxlib does not read.

!l = tensor<8x1073741824xf32>
!g = tensor<1073741824x1073741824xf32>

sdy.mesh @g = <["d"=2]>

// More bytes are saved than can be counted.
// CHECK-LABEL: func @huge
// CHECK-COUNT-5: stablehlo.dot_general {{.*}} -> tensor<2x1073741824x1073741824xf32>
func.func @huge(%x: !mpmd.mesh_tensor<"m", !l>) -> !mpmd.mesh_tensor<"m", !g> attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%x) (%a: !l) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (!l, !l) -> !g
    %e = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (!l, !l) -> !g
    %f = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (!l, !l) -> !g
    %g = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (!l, !l) -> !g
    %h = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (!l, !l) -> !g
    %1 = stablehlo.add %d, %e : !g
    %2 = stablehlo.add %1, %f : !g
    %3 = stablehlo.add %2, %g : !g
    %4 = stablehlo.add %3, %h : !g
    %t = stablehlo.tanh %4 : !g
    mpmd.return %t : !g
  } : (!mpmd.mesh_tensor<"m", !l>) -> !mpmd.mesh_tensor<"m", !g>
  return %0 : !mpmd.mesh_tensor<"m", !g>
}

// -----

!x = !mpmd.mesh_tensor<"m", tensor<8xf32>>
!w = !mpmd.mesh_tensor<"m", tensor<f32>>

sdy.mesh @g = <["d"=2]>

// A scalar has no start indices from which to take a type.
// CHECK-LABEL: func @scalar
func.func @scalar(%x: !x) -> !w attributes {topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<i32>
  // CHECK: stablehlo.dynamic_slice %{{.*}}, %[[ZERO]], sizes = [2] {{.*}} -> tensor<2xf32>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}]>]> (%x) (%a: tensor<8xf32>) {
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %d = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %e = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %s = "stablehlo.dynamic_slice"(%d) {slice_sizes = array<i64>} : (tensor<f32>) -> tensor<f32>
    %n = stablehlo.add %s, %e : tensor<f32>
    mpmd.return %n : tensor<f32>
  } : (!x) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0) (%a: tensor<f32>) {
    %t = stablehlo.tanh %a : tensor<f32>
    mpmd.return %t : tensor<f32>
  } : (!w) -> !w
  return %1 : !w
}
