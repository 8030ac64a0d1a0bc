// RUN: mpmd-opt %s -mpmd-split-concatenations | FileCheck %s

!v = tensor<32xf32>
!v1 = !mpmd.mesh_tensor<"m1", !v>
!v2 = !mpmd.mesh_tensor<"m2", !v>
!all = tensor<64xf32>
!s = tensor<f32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @norm
func.func @norm(%a: !v1, %b: !v2) -> !s attributes {topology = #topology} {
  // CHECK:      %[[A:.*]] = mpmd.unassign %arg0
  // CHECK:      %[[B:.*]] = mpmd.unassign %arg1
  // CHECK-NOT:  concatenate
  // CHECK:      %[[AA:.*]] = stablehlo.multiply %[[A]], %[[A]] : tensor<32xf32>
  // CHECK-NEXT: %[[BB:.*]] = stablehlo.multiply %[[B]], %[[B]] : tensor<32xf32>
  // CHECK-NEXT: %[[NA:.*]] = stablehlo.reduce(%[[AA]] init:
  // CHECK-NEXT: %[[NB:.*]] = stablehlo.reduce(%[[BB]] init:
  // CHECK-NEXT: stablehlo.add %[[NA]], %[[NB]] : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : !s
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %c = stablehlo.concatenate %a0, %b0, dim = 0 : (!v, !v) -> !all
  %sq = stablehlo.multiply %c, %c : !all
  %n = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [0] : (!all, !s) -> !s
  return %n : !s
}

// CHECK-LABEL: func @norm_of_sums_that_may_be_across_meshes
func.func @norm_of_sums_that_may_be_across_meshes(%a: !v1, %b: !v2) -> !s attributes {topology = #topology} {
  // CHECK-NOT:  concatenate
  // CHECK:      stablehlo.add %{{.*}}, %{{.*}} : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : !s
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %a1 = mpmd.reduce<none> %a0 : (!v) -> !v
  %b1 = mpmd.reduce<none> %b0 : (!v) -> !v
  %c = stablehlo.concatenate %a1, %b1, dim = 0 : (!v, !v) -> !all
  %sq = stablehlo.multiply %c, %c : !all
  %n = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [0] : (!all, !s) -> !s
  return %n : !s
}

// The larger piece is on "m2", as is the number by which both are divided.

// CHECK-LABEL: func @norm_of_means
func.func @norm_of_means(%a: !v1, %b: !mpmd.mesh_tensor<"m2", !all>, %n: !mpmd.mesh_tensor<"m2", !s>) -> !s attributes {topology = #topology} {
  // CHECK-NOT:  concatenate
  // CHECK:      stablehlo.add %{{.*}}, %{{.*}} : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : !s
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!mpmd.mesh_tensor<"m2", !all>) -> !all
  %n0 = mpmd.unassign %n : (!mpmd.mesh_tensor<"m2", !s>) -> !s
  %na = stablehlo.broadcast_in_dim %n0, dims = [] : (!s) -> !v
  %nb = stablehlo.broadcast_in_dim %n0, dims = [] : (!s) -> !all
  %a1 = stablehlo.divide %a0, %na : !v
  %b1 = stablehlo.divide %b0, %nb : !all
  %c = stablehlo.concatenate %a1, %b1, dim = 0 : (!v, !all) -> tensor<96xf32>
  %sq = stablehlo.multiply %c, %c : tensor<96xf32>
  %sum = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<96xf32>, !s) -> !s
  return %sum : !s
}

// A scalar that is broadcast, and what is sliced out of one operand.

// CHECK-LABEL: func @scaled_and_unraveled
func.func @scaled_and_unraveled(%a: !v1, %b: !v2, %scale: !s) -> (!v, tensor<8xf32>) attributes {topology = #topology} {
  // CHECK-NOT:  concatenate
  // CHECK:      %[[SA:.*]] = stablehlo.multiply %{{.*}} : tensor<32xf32>
  // CHECK:      %[[SB:.*]] = stablehlo.multiply %{{.*}} : tensor<32xf32>
  // CHECK-NEXT: %[[PART:.*]] = stablehlo.slice %[[SB]] [8:16]
  // CHECK-NEXT: return %[[SA]], %[[PART]]
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %c = stablehlo.concatenate %a0, %b0, dim = 0 : (!v, !v) -> !all
  %wide = stablehlo.broadcast_in_dim %scale, dims = [] : (!s) -> !all
  %scaled = stablehlo.multiply %c, %wide : !all
  %first = stablehlo.slice %scaled [0:32] : (!all) -> !v
  %part = stablehlo.slice %scaled [40:48] : (!all) -> tensor<8xf32>
  return %first, %part : !v, tensor<8xf32>
}

// CHECK-LABEL: func @scalar_product
func.func @scalar_product(%a: !v1, %b: !v2) -> !s attributes {topology = #topology} {
  // CHECK-NOT:  concatenate
  // CHECK:      %[[A:.*]] = stablehlo.dot_general
  // CHECK-NEXT: %[[B:.*]] = stablehlo.dot_general
  // CHECK-NEXT: stablehlo.add %[[A]], %[[B]]
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %c = stablehlo.concatenate %a0, %b0, dim = 0 : (!v, !v) -> !all
  %n = stablehlo.dot_general %c, %c, contracting_dims = [0] x [0] : (!all, !all) -> !s
  return %n : !s
}

// What reads all of it keeps it; an init value that counts is added once.

// CHECK-LABEL: func @left_alone
func.func @left_alone(%a: !v1, %b: !v2) -> (!all, !s, !v) attributes {topology = #topology} {
  // CHECK: %[[C:.*]] = stablehlo.concatenate
  // CHECK: %[[N:.*]] = stablehlo.reduce(%[[C]] init:
  // CHECK: %[[S:.*]] = stablehlo.slice %[[C]] [16:48]
  // CHECK: return %[[C]], %[[N]], %[[S]]
  %one = stablehlo.constant dense<1.0> : !s
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %c = stablehlo.concatenate %a0, %b0, dim = 0 : (!v, !v) -> !all
  %n = stablehlo.reduce(%c init: %one) applies stablehlo.add across dimensions = [0] : (!all, !s) -> !s
  %s = stablehlo.slice %c [16:48] : (!all) -> !v
  return %c, %n, %s : !all, !s, !v
}

// On one mesh, or small, there is nothing to gain.

// CHECK-LABEL: func @one_mesh
func.func @one_mesh(%a: !v1, %b: !v1) -> !s attributes {topology = #topology} {
  // CHECK: stablehlo.concatenate
  %zero = stablehlo.constant dense<0.0> : !s
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v1) -> !v
  %c = stablehlo.concatenate %a0, %b0, dim = 0 : (!v, !v) -> !all
  %n = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0] : (!all, !s) -> !s
  return %n : !s
}

// Two vectors of pieces of the same sizes, one of which could be anywhere.

// CHECK-LABEL: func @likeness
func.func @likeness(%a: !v1, %b: !v2, %m: !v, %n: !v) -> (!s, !s) attributes {topology = #topology} {
  // CHECK:      %[[A:.*]] = mpmd.unassign %arg0
  // CHECK:      %[[B:.*]] = mpmd.unassign %arg1
  // CHECK-NOT:  concatenate
  // CHECK:      %[[MM:.*]] = stablehlo.negate %arg2
  // CHECK:      %[[NN:.*]] = stablehlo.negate %arg3
  // CHECK:      %[[D1:.*]] = stablehlo.dot_general %[[A]], %[[MM]]
  // CHECK-NEXT: %[[D2:.*]] = stablehlo.dot_general %[[B]], %[[NN]]
  // CHECK-NEXT: %[[D:.*]] = stablehlo.add %[[D1]], %[[D2]]
  // CHECK:      %[[N1:.*]] = stablehlo.reduce(%arg2
  // CHECK-NEXT: %[[N2:.*]] = stablehlo.reduce(%arg3
  // CHECK-NEXT: %[[N:.*]] = stablehlo.add %[[N1]], %[[N2]]
  // CHECK-NEXT: return %[[D]], %[[N]]
  %zero = stablehlo.constant dense<0.0> : !s
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %c = stablehlo.concatenate %a0, %b0, dim = 0 : (!v, !v) -> !all
  %k = stablehlo.concatenate %m, %n, dim = 0 : (!v, !v) -> !all
  %neg = stablehlo.negate %k : !all
  %d = stablehlo.dot_general %c, %neg, contracting_dims = [0] x [0] : (!all, !all) -> !s
  %sum = stablehlo.reduce(%k init: %zero) applies stablehlo.add across dimensions = [0] : (!all, !s) -> !s
  return %d, %sum : !s, !s
}

// A norm of each of the stacked, and the deviation from a mean.

!one = tensor<1x32xf32>
!two = tensor<2x32xf32>

// CHECK-LABEL: func @norms
func.func @norms(%a: !v1, %b: !v2) -> !s attributes {topology = #topology} {
  // CHECK-NOT: concatenate
  // CHECK:     stablehlo.reduce({{.*}} : (tensor<1x32xf32>, tensor<f32>) -> tensor<1xf32>
  // CHECK:     stablehlo.reduce({{.*}} : (tensor<1x32xf32>, tensor<f32>) -> tensor<1xf32>
  // CHECK-NOT: {{(subtract|reshape|reduce).*}}tensor<2x
  // CHECK:     return
  %zero = stablehlo.constant dense<0.0> : !s
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %a1 = stablehlo.reshape %a0 : (!v) -> !one
  %b1 = stablehlo.reshape %b0 : (!v) -> !one
  %c = stablehlo.concatenate %a1, %b1, dim = 0 : (!one, !one) -> !two
  %each = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [1] : (!two, !s) -> tensor<2xf32>
  %whole = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0, 1] : (!two, !s) -> !s
  %mean = stablehlo.reshape %whole : (!s) -> tensor<1x1xf32>
  %wide = stablehlo.broadcast_in_dim %mean, dims = [0, 1] : (tensor<1x1xf32>) -> !two
  %less = stablehlo.subtract %c, %wide : !two
  %largest = stablehlo.reduce(%less init: %zero) applies stablehlo.maximum across dimensions = [1] : (!two, !s) -> tensor<2xf32>
  %both = stablehlo.add %each, %largest : tensor<2xf32>
  %wider = stablehlo.broadcast_in_dim %both, dims = [0] : (tensor<2xf32>) -> !two
  %flat = stablehlo.reshape %wider : (!two) -> tensor<2x4x8xf32>
  %sum = stablehlo.reduce(%flat init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x4x8xf32>, !s) -> !s
  return %sum : !s
}

// Noise is made of a key, so that each mesh draws it and takes its part; a vector that is
// an argument keeps the whole together.

// CHECK-LABEL: func @noise
func.func @noise(%a: !v1, %b: !v2, %seed: !s) -> (!v, !v) attributes {topology = #topology} {
  // CHECK-NOT:  concatenate
  // CHECK:      %[[DRAWN:.*]] = stablehlo.multiply %{{.*}} : tensor<64xf32>
  // CHECK-DAG:  %[[NA:.*]] = stablehlo.slice %[[DRAWN]] [0:32]
  // CHECK-DAG:  %[[NB:.*]] = stablehlo.slice %[[DRAWN]] [32:64]
  // CHECK-DAG:  %[[SA:.*]] = stablehlo.add %{{.*}}, %[[NA]] : tensor<32xf32>
  // CHECK-DAG:  %[[SB:.*]] = stablehlo.add %{{.*}}, %[[NB]] : tensor<32xf32>
  // CHECK:      return %[[SA]], %[[SB]]
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %c = stablehlo.concatenate %a0, %b0, dim = 0 : (!v, !v) -> !all
  %at = stablehlo.iota dim = 0 : !all
  %wide = stablehlo.broadcast_in_dim %seed, dims = [] : (!s) -> !all
  %drawn = stablehlo.multiply %at, %wide : !all
  %sum = stablehlo.add %c, %drawn : !all
  %first = stablehlo.slice %sum [0:32] : (!all) -> !v
  %second = stablehlo.slice %sum [32:64] : (!all) -> !v
  return %first, %second : !v, !v
}

// CHECK-LABEL: func @vector_of_state
func.func @vector_of_state(%a: !v1, %b: !v2, %m: !all) -> !v attributes {topology = #topology} {
  // CHECK: stablehlo.concatenate
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %c = stablehlo.concatenate %a0, %b0, dim = 0 : (!v, !v) -> !all
  %sum = stablehlo.add %c, %m : !all
  %first = stablehlo.slice %sum [0:32] : (!all) -> !v
  return %first : !v
}
