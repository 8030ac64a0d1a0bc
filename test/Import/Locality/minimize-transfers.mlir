// RUN: mpmd-opt %s -mpmd-minimize-transfers | FileCheck %s

!w = tensor<8x8xf32>
!w1 = !mpmd.mesh_tensor<"m1", !w>
!w2 = !mpmd.mesh_tensor<"m2", !w>
!s = tensor<f32>
!s1 = !mpmd.mesh_tensor<"m1", !s>
!s2 = !mpmd.mesh_tensor<"m2", !s>
!w3 = !mpmd.mesh_tensor<"m3", !w>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
#three = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>, <"m3": <["x"=2]>>>

// The scalar travels, and what it is broadcast to does not.

// CHECK-LABEL: func @scalar_meets_gradient
func.func @scalar_meets_gradient(%g: !w2, %n: !s1) -> !w attributes {topology = #topology} {
  // CHECK:      %[[SUM:.*]] = stablehlo.sqrt
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign {origin = "fewest_bytes"} %[[SUM]] {{.*}} -> !mpmd.mesh_tensor<"m1"
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[A]] {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign {origin = "fewest_bytes"} %[[T]]
  // CHECK:      %[[B:.*]] = stablehlo.broadcast_in_dim %[[U]]
  // CHECK-NEXT: stablehlo.divide %{{.*}}, %[[B]]
  %gradient = mpmd.unassign %g : (!w2) -> !w
  %number = mpmd.unassign %n : (!s1) -> !s
  %root = stablehlo.sqrt %number : !s
  %all = stablehlo.broadcast_in_dim %root, dims = [] : (!s) -> !w
  %quotient = stablehlo.divide %gradient, %all : !w
  return %quotient : !w
}

// What is read on one mesh by several operations is sent there once, and an
// unassigned value needs no further assign.

// CHECK-LABEL: func @sent_once
func.func @sent_once(%g: !w2, %h: !w2, %n: !s1) -> (!w, !w) attributes {topology = #topology} {
  // CHECK:      mpmd.transfer %arg2
  // CHECK-NOT:  mpmd.transfer
  // CHECK:      return
  %g0 = mpmd.unassign %g : (!w2) -> !w
  %h0 = mpmd.unassign %h : (!w2) -> !w
  %number = mpmd.unassign %n : (!s1) -> !s
  %all = stablehlo.broadcast_in_dim %number, dims = [] : (!s) -> !w
  %0 = stablehlo.multiply %g0, %all : !w
  %1 = stablehlo.multiply %h0, %all : !w
  return %0, %1 : !w, !w
}

// Of values of one size, that is sent which is not on the mesh of the reader.

// CHECK-LABEL: func @reader_decides
func.func @reader_decides(%a: !w1, %b: !w2) -> !w2 attributes {topology = #topology} {
  // CHECK:      mpmd.transfer %arg0 {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NOT:  mpmd.transfer
  // CHECK:      return
  %a0 = mpmd.unassign %a : (!w1) -> !w
  %b0 = mpmd.unassign %b : (!w2) -> !w
  %0 = stablehlo.divide %a0, %b0 : !w
  %1 = stablehlo.tanh %0 : !w
  %2 = mpmd.assign %1 : (!w) -> !w2
  return %2 : !w2
}

// Sums are left to become reductions across meshes.

// CHECK-LABEL: func @sum_is_left
func.func @sum_is_left(%a: !w1, %b: !w2) -> !w attributes {topology = #topology} {
  // CHECK-NOT:  mpmd.transfer
  // CHECK:      return
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%a) (%x: !w) {
    mpmd.return %x : !w
  } : (!w1) -> !w1
  %g = mpmd.fragment<mesh="m2", origin=["g"]> (%b) (%x: !w) {
    mpmd.return %x : !w
  } : (!w2) -> !w2
  %a0 = mpmd.unassign %f : (!w1) -> !w
  %b0 = mpmd.unassign %g : (!w2) -> !w
  %0 = stablehlo.add %a0, %b0 : !w
  return %0 : !w
}

// An update of an argument is made where that is.

// CHECK-LABEL: func @update_with_a_sum
func.func @update_with_a_sum(%w: !w2, %u: !w) -> !w attributes {topology = #topology} {
  // CHECK: %[[T:.*]] = mpmd.transfer %{{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK: %[[U:.*]] = mpmd.unassign {origin = "fewest_bytes"} %[[T]]
  // CHECK: %[[W:.*]] = mpmd.unassign %arg0
  // CHECK: %[[A:.*]] = mpmd.assign {origin = "fewest_bytes"} %[[W]]
  // CHECK: %[[K:.*]] = mpmd.unassign {origin = "fewest_bytes"} %[[A]]
  // CHECK: stablehlo.add %[[K]], %[[U]]
  %0 = mpmd.assign %u : (!w) -> !w1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%x: !w) {
    mpmd.return %x : !w
  } : (!w1) -> !w1
  %update = mpmd.unassign %1 : (!w1) -> !w
  %w0 = mpmd.unassign %w : (!w2) -> !w
  %new = stablehlo.add %w0, %update : !w
  return %new : !w
}

// A sum with a scalar that was broadcast is not: the scalar travels.

// CHECK-LABEL: func @sum_with_broadcast
func.func @sum_with_broadcast(%a: !w1, %b: !s2) -> !w attributes {topology = #topology} {
  // CHECK:      mpmd.transfer %arg1 {{.*}} -> !mpmd.mesh_tensor<"m1", tensor<f32>>
  // CHECK:      return
  %a0 = mpmd.unassign %a : (!w1) -> !w
  %b0 = mpmd.unassign %b : (!s2) -> !s
  %all = stablehlo.broadcast_in_dim %b0, dims = [] : (!s) -> !w
  %0 = stablehlo.add %a0, %all : !w
  return %0 : !w
}

// An update that another mesh reads, too, is made where the weight is.

// CHECK-LABEL: func @update_is_sent
func.func @update_is_sent(%w: !w1, %g: !w1) -> (!w, !w2) attributes {topology = #topology} {
  // CHECK:      %[[NEW:.*]] = stablehlo.subtract
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign {origin = "fewest_bytes"} %[[NEW]] {{.*}} -> !mpmd.mesh_tensor<"m1"
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[A]]
  // CHECK-NEXT: %[[U:.*]] = mpmd.unassign {origin = "fewest_bytes"} %[[T]]
  // CHECK-NEXT: %[[ACTOR:.*]] = mpmd.assign %[[U]] {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: return %[[NEW]], %[[ACTOR]]
  %w0 = mpmd.unassign %w : (!w1) -> !w
  %g0 = mpmd.unassign %g : (!w1) -> !w
  %new = stablehlo.subtract %w0, %g0 : !w
  %actor = mpmd.assign %new : (!w) -> !w2
  return %new, %actor : !w, !w2
}

// What has one source is computed where it is read, as by mesh inference.

// CHECK-LABEL: func @one_source
func.func @one_source(%h: !w1) -> !w2 attributes {topology = #topology} {
  // CHECK-NOT:  mpmd.transfer
  // CHECK:      return
  %h0 = mpmd.unassign %h : (!w1) -> !w
  %0 = stablehlo.tanh %h0 : !w
  %1 = stablehlo.multiply %0, %h0 : !w
  %2 = mpmd.assign %1 : (!w) -> !w2
  return %2 : !w2
}

// An argument that is read element by element with a weight, and returned as it
// is, belongs where the weight is; a counter does not belong anywhere.

// CHECK-LABEL: func @passed_through
// CHECK-SAME:    %arg0: !mpmd.mesh_tensor<"m2", tensor<8x8xf32>>,
// CHECK-SAME:    %[[START:[^:]*]]: !mpmd.mesh_tensor<"m2", tensor<8x8xf32>>,
// CHECK-SAME:    %{{.*}}: tensor<i32>)
func.func @passed_through(%w: !w2, %start: !w, %count: tensor<i32>) -> (!w, !w, tensor<i32>) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.unassign {origin = "fewest_bytes"} %[[START]]
  %w0 = mpmd.unassign %w : (!w2) -> !w
  %distance = stablehlo.subtract %w0, %start : !w
  return %distance, %start, %count : !w, !w, tensor<i32>
}

// So does one that meets it by way of others, and what has no gradient.

// CHECK-LABEL: func @chain
// CHECK-SAME:    %{{.*}}: !mpmd.mesh_tensor<"m2", tensor<8x8xf32>>, %{{.*}}: !mpmd.mesh_tensor<"m2", tensor<8x8xf32>>, %{{.*}}: !mpmd.mesh_tensor<"m2", tensor<8x8xf32>>
func.func @chain(%w: !w2, %mu: !w, %nu: !w) -> (!w, !w, !w) attributes {topology = #topology} {
  %w0 = mpmd.unassign %w : (!w2) -> !w
  %m = stablehlo.add %mu, %mu : !w
  %n = stablehlo.multiply %nu, %nu : !w
  %u = stablehlo.divide %m, %n : !w
  %new = stablehlo.subtract %w0, %u : !w
  return %new, %m, %n : !w, !w, !w
}

// What is broadcast from another mesh says nothing of where state belongs: the
// moment of a weight without gradient goes with the weight.

// CHECK-LABEL: func @frozen
// CHECK-SAME:    %{{[^:]*}}: !mpmd.mesh_tensor<"m2", tensor<8x8xf32>>, %{{[^:]*}}: !mpmd.mesh_tensor<"m2", tensor<8x8xf32>>,
func.func @frozen(%w: !w2, %mu: !w, %norm: !s1) -> (!w, !w) attributes {topology = #topology} {
  %zero = stablehlo.constant dense<0.0> : !w
  %w0 = mpmd.unassign %w : (!w2) -> !w
  %n = mpmd.unassign %norm : (!s1) -> !s
  %all = stablehlo.broadcast_in_dim %n, dims = [] : (!s) -> !w
  %g = stablehlo.multiply %zero, %all : !w
  %new = stablehlo.add %mu, %g : !w
  %update = stablehlo.subtract %w0, %new : !w
  return %update, %new : !w, !w
}

// A choice by a number, of what is broadcast from another mesh, says as little, nor
// does a clamp.

// CHECK-LABEL: func @frozen_and_clipped
// CHECK-SAME:    %{{[^:]*}}: !mpmd.mesh_tensor<"m2", tensor<8x8xf32>>, %{{[^:]*}}: !mpmd.mesh_tensor<"m2", tensor<8x8xf32>>,
func.func @frozen_and_clipped(%w: !w2, %mu: !w, %norm: !s1) -> (!w, !w) attributes {topology = #topology} {
  %one = stablehlo.constant dense<1.0> : !s
  %zero = stablehlo.constant dense<0.0> : !w
  %w0 = mpmd.unassign %w : (!w2) -> !w
  %n = mpmd.unassign %norm : (!s1) -> !s
  %small = stablehlo.compare LT, %n, %one : (!s, !s) -> tensor<i1>
  %all = stablehlo.broadcast_in_dim %n, dims = [] : (!s) -> !w
  %scaled = stablehlo.divide %zero, %all : !w
  %g = stablehlo.select %small, %zero, %scaled : tensor<i1>, !w
  %clamped = stablehlo.clamp %n, %g, %one : (!s, !w, !s) -> !w
  %new = stablehlo.add %mu, %clamped : !w
  %update = stablehlo.subtract %w0, %new : !w
  return %update, %new : !w, !w
}

// What is sent from one of the meshes that have it is computed on no other: a number of
// two meshes that a third reads goes to the second, too, in place of what it is made of.

// CHECK-LABEL: func @number_of_two_meshes
func.func @number_of_two_meshes(%a: !s1, %b: !s2, %count: !s, %h: !w2, %k: !w3) -> (!w, !w) attributes {topology = #three} {
  // CHECK:     %[[SUM:.*]] = stablehlo.add
  // CHECK:     %[[N:.*]] = stablehlo.maximum %[[SUM]]
  // CHECK:     %[[A:.*]] = mpmd.assign {origin = "fewest_bytes"} %[[N]] {{.*}} -> !mpmd.mesh_tensor<"m1"
  // CHECK-DAG: %[[T3:.*]] = mpmd.transfer %[[A]] {{.*}} -> !mpmd.mesh_tensor<"m3"
  // CHECK-DAG: %[[U3:.*]] = mpmd.unassign {origin = "fewest_bytes"} %[[T3]]
  // CHECK-DAG: %[[T2:.*]] = mpmd.transfer %[[A]] {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-DAG: %[[U2:.*]] = mpmd.unassign {origin = "fewest_bytes"} %[[T2]]
  // CHECK-DAG: %[[B3:.*]] = stablehlo.broadcast_in_dim %[[U3]]
  // CHECK-DAG: %[[B2:.*]] = stablehlo.broadcast_in_dim %[[U2]]
  // CHECK-DAG: stablehlo.divide %{{.*}}, %[[B2]]
  // CHECK-DAG: stablehlo.divide %{{.*}}, %[[B3]]
  %a0 = mpmd.unassign %a : (!s1) -> !s
  %b0 = mpmd.unassign %b : (!s2) -> !s
  %h0 = mpmd.unassign %h : (!w2) -> !w
  %k0 = mpmd.unassign %k : (!w3) -> !w
  %a1 = stablehlo.sqrt %a0 : !s
  %b1 = stablehlo.sqrt %b0 : !s
  %sum = stablehlo.add %a1, %b1 : !s
  %n = stablehlo.maximum %sum, %count : !s
  %all = stablehlo.broadcast_in_dim %n, dims = [] : (!s) -> !w
  %0 = stablehlo.divide %h0, %all : !w
  %1 = stablehlo.divide %k0, %all : !w
  return %0, %1 : !w, !w
}

// The gradient of a weight that two meshes share is summed up once, where the weight
// and its moment are, also for a norm.

// CHECK-LABEL: func @shared_weight
// CHECK-SAME:    %[[MU:[^:]*]]: !mpmd.mesh_tensor<"m1", tensor<8x8xf32>>, %{{[^:]*}}: !mpmd
func.func @shared_weight(%w: !w, %mu: !w, %a: !w1, %b: !w2) -> (!w, !w, !s) attributes {topology = #topology} {
  // CHECK-NOT:  mpmd.reduce
  // CHECK:      %[[SUM:.*]] = stablehlo.add %{{.*}}, %{{.*}} : tensor<8x8xf32>
  // CHECK-NEXT: %[[A:.*]] = mpmd.assign {origin = "fewest_bytes"} %[[SUM]] {{.*}} -> !mpmd.mesh_tensor<"m1"
  // CHECK-NEXT: %[[G:.*]] = mpmd.unassign {origin = "fewest_bytes"} %[[A]]
  // CHECK-NEXT: stablehlo.multiply %[[G]], %[[G]]
  // CHECK:      stablehlo.add %{{.*}}, %[[G]]
  %0 = mpmd.assign %w : (!w) -> !w1
  %1 = mpmd.assign %w : (!w) -> !w2
  mpmd.fragment<mesh="m1", origin=["first"]> (%0) (%x: !w) {
    mpmd.return
  } : (!w1) -> ()
  mpmd.fragment<mesh="m2", origin=["last"]> (%1) (%x: !w) {
    mpmd.return
  } : (!w2) -> ()
  %zero = stablehlo.constant dense<0.0> : !s
  %a0 = mpmd.unassign %a : (!w1) -> !w
  %b0 = mpmd.unassign %b : (!w2) -> !w
  %a1 = stablehlo.negate %a0 : !w
  %b1 = stablehlo.negate %b0 : !w
  %sum = stablehlo.add %a1, %b1 : !w
  %g = mpmd.reduce<none> %sum : (!w) -> !w
  %square = stablehlo.multiply %g, %g : !w
  %norm = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (!w, !s) -> !s
  %new = stablehlo.add %mu, %g : !w
  %update = stablehlo.subtract %w, %new : !w
  return %update, %new, %norm : !w, !w, !s
}

// State that one mesh alone reads belongs there.

// CHECK-LABEL: func @projector
// CHECK-SAME:    %{{[^:]*}}: !mpmd.mesh_tensor<"m2", tensor<8x4xf32>>)
func.func @projector(%g: !w2, %projector: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {topology = #topology} {
  %g0 = mpmd.unassign %g : (!w2) -> !w
  %p = stablehlo.dot_general %g0, %projector, contracting_dims = [1] x [0] : (!w, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %p, %projector : tensor<8x4xf32>, tensor<8x4xf32>
}

// What is only read goes with what is computed of it.

// CHECK-LABEL: func @read_for_another_mesh
// CHECK-SAME:    %{{[^:]*}}: tensor<8x8xf32>, %{{[^:]*}}: tensor<8x8xf32>)
func.func @read_for_another_mesh(%a: !w, %b: !w) -> (!w1, !w2) attributes {topology = #topology} {
  // CHECK-NOT: mpmd.transfer
  %t = stablehlo.transpose %a, dims = [1, 0] : (!w) -> !w
  %p = stablehlo.dot_general %t, %b, contracting_dims = [1] x [0] : (!w, !w) -> !w
  %0 = mpmd.assign %p : (!w) -> !w1
  %1 = mpmd.assign %b : (!w) -> !w2
  // CHECK: return
  return %0, %1 : !w1, !w2
}

// A value that is read in two shapes is sent once.

// CHECK-LABEL: func @two_shapes
func.func @two_shapes(%a: !w1, %b: !w2) -> (!w, tensor<64xf32>) attributes {topology = #topology} {
  // CHECK:     mpmd.transfer %arg0 {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NOT: mpmd.transfer
  // CHECK:     return
  %a0 = mpmd.unassign %a : (!w1) -> !w
  %b0 = mpmd.unassign %b : (!w2) -> !w
  %b1 = stablehlo.tanh %b0 : !w
  %0 = stablehlo.dot_general %a0, %b1, contracting_dims = [1] x [0] : (!w, !w) -> !w
  %flat = stablehlo.reshape %a0 : (!w) -> tensor<64xf32>
  %flat_b = stablehlo.reshape %b1 : (!w) -> tensor<64xf32>
  %1 = stablehlo.divide %flat, %flat_b : tensor<64xf32>
  %2 = mpmd.assign %0 : (!w) -> !w2
  %3 = mpmd.unassign %2 : (!w2) -> !w
  %4 = mpmd.assign %1 : (tensor<64xf32>) -> !mpmd.mesh_tensor<"m2", tensor<64xf32>>
  %5 = mpmd.unassign %4 : (!mpmd.mesh_tensor<"m2", tensor<64xf32>>) -> tensor<64xf32>
  return %3, %5 : !w, tensor<64xf32>
}

// Of two meshes for which the same speaks, what is added up across meshes is computed
// on the one where the sum is read.

// CHECK-LABEL: func @part_of_a_sum
func.func @part_of_a_sum(%a: !w1, %b: !w2, %c: !w1) -> !w2 attributes {topology = #topology} {
  // CHECK:     mpmd.transfer %arg0 {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NOT: mpmd.transfer
  // CHECK:     return
  %a0 = mpmd.unassign %a : (!w1) -> !w
  %b0 = mpmd.unassign %b : (!w2) -> !w
  %c0 = mpmd.unassign %c : (!w1) -> !w
  %part = stablehlo.dot_general %a0, %b0, contracting_dims = [1] x [0] : (!w, !w) -> !w
  %other = stablehlo.tanh %c0 : !w
  %other2 = stablehlo.tanh %b0 : !w
  %0 = stablehlo.add %other, %other2 : !w
  %sum = stablehlo.add %0, %part : !w
  %1 = mpmd.assign %sum : (!w) -> !w2
  return %1 : !w2
}

// An argument that meets values of two meshes is left to mesh inference.

// CHECK-LABEL: func @shared
// CHECK-SAME:    %{{[^:]*}}: tensor<8x8xf32>)
func.func @shared(%a: !w1, %b: !w2, %x: !w) -> (!w, !w, !w) attributes {topology = #topology} {
  %a0 = mpmd.unassign %a : (!w1) -> !w
  %b0 = mpmd.unassign %b : (!w2) -> !w
  %0 = stablehlo.multiply %a0, %x : !w
  %1 = stablehlo.multiply %b0, %x : !w
  return %0, %1, %x : !w, !w, !w
}

// Weights that two meshes read belong where they are updated.

// CHECK-LABEL: func @read_on_two_meshes
// CHECK-SAME:    %arg0: !mpmd.mesh_tensor<"m2", tensor<8x8xf32>>
func.func @read_on_two_meshes(%w: !w, %g: !w2) -> !w attributes {topology = #topology} {
  %0 = mpmd.assign %w : (!w) -> !w1
  %1 = mpmd.assign %w : (!w) -> !w2
  mpmd.fragment<mesh="m1", origin=["actor"]> (%0) (%x: !w) {
    mpmd.return
  } : (!w1) -> ()
  mpmd.fragment<mesh="m2", origin=["learner"]> (%1) (%x: !w) {
    mpmd.return
  } : (!w2) -> ()
  %g0 = mpmd.unassign %g : (!w2) -> !w
  %new = stablehlo.subtract %w, %g0 : !w
  return %new : !w
}

// Results of calls are where the callee computes them.

// CHECK-LABEL: func @caller
func.func @caller(%w: !w, %n: !s1) -> !w attributes {topology = #topology} {
  // CHECK: mpmd.transfer %arg1 {{.*}} -> !mpmd.mesh_tensor<"m2", tensor<f32>>
  // CHECK: return
  %number = mpmd.unassign %n : (!s1) -> !s
  %0 = mpmd.call @callee(%w) : (!w) -> !w
  %all = stablehlo.broadcast_in_dim %number, dims = [] : (!s) -> !w
  %1 = stablehlo.multiply %0, %all : !w
  return %1 : !w
}
func.func private @callee(%w: !w) -> !w attributes {topology = #topology} {
  %0 = mpmd.assign %w : (!w) -> !w2
  %1 = mpmd.fragment<mesh="m2", origin=["f"]> (%0) (%x: !w) {
    mpmd.return %x : !w
  } : (!w2) -> !w2
  %2 = mpmd.unassign %1 : (!w2) -> !w
  return %2 : !w
}

// Inference finds arguments wherever they are needed. Where values travel, they are
// cut off from what reads them, so that sums travel, and not weights.

// CHECK-LABEL: func @norm_of_weights
func.func @norm_of_weights(%a: !w, %b: !w) -> (!s1, !w) attributes {topology = #topology} {
  // CHECK:      %[[B:.*]] = mpmd.unassign {origin = "fewest_bytes"} %{{.*}} : (!mpmd.mesh_tensor<"m2", tensor<8x8xf32>>)
  // CHECK:      %[[A:.*]] = mpmd.unassign {origin = "fewest_bytes"} %{{.*}} : (!mpmd.mesh_tensor<"m1", tensor<8x8xf32>>)
  // CHECK:      stablehlo.reduce(%[[A]] init:
  // CHECK:      stablehlo.reduce(%[[B]] init:
  // CHECK:      return %{{.*}}, %[[B]]
  %0 = mpmd.assign %a : (!w) -> !w1
  %1 = mpmd.assign %b : (!w) -> !w2
  mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%x: !w) {
    mpmd.return
  } : (!w1) -> ()
  mpmd.fragment<mesh="m2", origin=["g"]> (%1) (%x: !w) {
    mpmd.return
  } : (!w2) -> ()
  %zero = stablehlo.constant dense<0.0> : !s
  %n = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (!w, !s) -> !s
  %m = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1] : (!w, !s) -> !s
  %sum = stablehlo.add %n, %m : !s
  %all = mpmd.assign %sum : (!s) -> !s1
  return %all, %b : !s1, !w
}

// Inference does not see what a region reads.

// CHECK-LABEL: func @region
func.func @region(%g: !w2, %state: !w, %p: tensor<i32>) -> !w attributes {topology = #topology} {
  // CHECK:      %[[C:.*]] = "stablehlo.case"
  // CHECK:      %[[A:.*]] = mpmd.assign {origin = "fewest_bytes"} %[[C]] {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK:      %[[U:.*]] = mpmd.unassign {origin = "fewest_bytes"} %[[A]]
  // CHECK:      return %[[U]]
  %g0 = mpmd.unassign %g : (!w2) -> !w
  %c = "stablehlo.case"(%p) ({
    stablehlo.return %state : !w
  }, {
    stablehlo.return %g0 : !w
  }) : (tensor<i32>) -> !w
  return %c : !w
}

// A value that was kept on "m1" is computed on "m2" once its input is sent there.

// CHECK-LABEL: func @kept_before_its_input_is_sent
func.func @kept_before_its_input_is_sent(%a: !w1, %b: !w2) attributes {topology = #topology} {
  // CHECK:      %[[MAX:.*]] = stablehlo.maximum
  // CHECK-NEXT: %[[HERE:.*]] = mpmd.assign {origin = "fewest_bytes"} %[[MAX]] {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: %[[SENT:.*]] = mpmd.transfer %[[HERE]] {{.*}} -> !mpmd.mesh_tensor<"m1"
  // CHECK-NEXT: %[[THERE:.*]] = mpmd.unassign {origin = "fewest_bytes"} %[[SENT]]
  // CHECK-NEXT: mpmd.assign {origin = "fewest_bytes"} %[[THERE]] {{.*}} -> !mpmd.mesh_tensor<"m1"
  %0 = mpmd.unassign %b : (!w2) -> !w
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%a) (%x: !w) {
    mpmd.return %x : !w
  } : (!w1) -> !w1
  %1 = mpmd.unassign %f : (!w1) -> !w
  %2 = stablehlo.minimum %1, %0 : !w
  %3 = stablehlo.maximum %2, %1 : !w
  %4 = stablehlo.tanh %3 : !w
  mpmd.call @no_results(%4) : (!w) -> ()
  return
}
func.func private @no_results(%w: !w) attributes {topology = #topology} {
  return
}

// In a callee, too, the parts of a sum across meshes stay where they are. What meets a
// weight there, such as the weights that training began with, is not sent for.

// CHECK-LABEL: func @calls_distance(
func.func @calls_distance(%a: !w, %b: !w, %start: !w2) -> !s attributes {topology = #topology} {
  // CHECK:      %[[START:.*]] = mpmd.unassign %arg2
  // CHECK-NEXT: %[[TWICE:.*]] = stablehlo.add %[[START]], %[[START]]
  // CHECK-NEXT: mpmd.call @distance(%arg0, %arg1, %[[TWICE]])
  %0 = mpmd.unassign %start : (!w2) -> !w
  %1 = stablehlo.add %0, %0 : !w
  %2 = mpmd.call @distance(%a, %b, %1) : (!w, !w, !w) -> !s
  return %2 : !s
}
// CHECK-LABEL: func private @distance
func.func private @distance(%a: !w, %b: !w, %start: !w) -> !s attributes {topology = #topology} {
  // CHECK:      %[[A:.*]] = stablehlo.reduce(%arg0 init:
  // CHECK-NEXT: mpmd.assign {origin = "fewest_bytes"} %[[A]] : (tensor<f32>) -> !mpmd.mesh_tensor<"m1"
  // CHECK:      stablehlo.subtract %arg1, %arg2
  // CHECK-NEXT: %[[B:.*]] = stablehlo.reduce(
  // CHECK-NEXT: mpmd.assign {origin = "fewest_bytes"} %[[B]] : (tensor<f32>) -> !mpmd.mesh_tensor<"m2"
  %zero = stablehlo.constant dense<0.0> : !s
  %0 = mpmd.assign %a : (!w) -> !w1
  %1 = mpmd.assign %b : (!w) -> !w2
  mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%x: !w) {
    mpmd.return
  } : (!w1) -> ()
  mpmd.fragment<mesh="m2", origin=["g"]> (%1) (%x: !w) {
    mpmd.return
  } : (!w2) -> ()
  %na = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (!w, !s) -> !s
  %less = stablehlo.subtract %b, %start : !w
  %nb = stablehlo.reduce(%less init: %zero) applies stablehlo.add across dimensions = [0, 1] : (!w, !s) -> !s
  %sum = stablehlo.add %na, %nb : !s
  return %sum : !s
}

// What can be anywhere may be copied: the assign of %update would draw %count to "m2",
// and leave the quotient on "m1" without a mesh.

// CHECK-LABEL: func @count_for_all
func.func @count_for_all(%g: !w2, %p: !w1, %state: !w1, %count: !w) -> (!w, !w) attributes {topology = #topology} {
  // CHECK-NEXT: %[[COPIED:.*]] = mpmd.broadcast %arg3
  // CHECK:      %[[ROOT:.*]] = stablehlo.sqrt %[[COPIED]]
  // CHECK-NEXT: %[[UPDATE:.*]] = stablehlo.divide %{{.*}}, %[[ROOT]]
  // CHECK-NEXT: mpmd.assign {origin = "fewest_bytes"} %[[UPDATE]] {{.*}} -> !mpmd.mesh_tensor<"m2"
  %g0 = mpmd.unassign %g : (!w2) -> !w
  %p0 = mpmd.unassign %p : (!w1) -> !w
  %state0 = mpmd.unassign %state : (!w1) -> !w
  %root = stablehlo.sqrt %count : !w
  %update = stablehlo.divide %g0, %root : !w
  %new = stablehlo.add %p0, %update : !w
  %quotient = stablehlo.divide %state0, %root : !w
  return %new, %quotient : !w, !w
}

// The factors of what is added to a weight of "m1" belong there.

// CHECK-LABEL: func @factors_of_an_update
// CHECK-SAME:    (%arg0: !mpmd.mesh_tensor<"m2"{{.*}}>, %arg1: !mpmd.mesh_tensor<"m1"{{.*}}>, %arg2: !mpmd.mesh_tensor<"m1"{{.*}}>, %arg3: !mpmd.mesh_tensor<"m1"{{.*}}>)
func.func @factors_of_an_update(%v: !w2, %w: !w1, %left: !w, %right: !w) -> (!w, !w, !w) attributes {topology = #topology} {
  %v0 = mpmd.unassign %v : (!w2) -> !w
  %w0 = mpmd.unassign %w : (!w1) -> !w
  %scaled = stablehlo.multiply %right, %right : !w
  %update = stablehlo.dot %left, %scaled : (!w, !w) -> !w
  %new = stablehlo.add %w0, %update : !w
  %other = stablehlo.add %v0, %w0 : !w
  return %new, %scaled, %other : !w, !w, !w
}

// State that meets nothing but a number is where that is, read and written.

// CHECK-LABEL: func @state_by_a_number
// CHECK-SAME:    (%arg0: !mpmd.mesh_tensor<"m2"{{.*}}>, %arg1: !mpmd.mesh_tensor<"m2"{{.*}}>)
func.func @state_by_a_number(%n: !s2, %moment: !w) -> (!w, !w) attributes {topology = #topology} {
  %n0 = mpmd.unassign %n : (!s2) -> !s
  %all = stablehlo.broadcast_in_dim %n0, dims = [] : (!s) -> !w
  %new = stablehlo.multiply %moment, %all : !w
  %scaled = stablehlo.add %moment, %moment : !w
  return %new, %scaled : !w, !w
}

// Numbers that are read twice, again and again, are looked at once each: the paths from
// the argument to the assign are 2^32.

// CHECK-LABEL: func @number_is_read_twice
func.func @number_is_read_twice(%n: !s) -> !s2 attributes {topology = #topology} {
  // CHECK:     mpmd.assign %{{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NOT: mpmd.transfer
  %1 = stablehlo.multiply %n, %n : !s
  %2 = stablehlo.multiply %1, %1 : !s
  %3 = stablehlo.multiply %2, %2 : !s
  %4 = stablehlo.multiply %3, %3 : !s
  %5 = stablehlo.multiply %4, %4 : !s
  %6 = stablehlo.multiply %5, %5 : !s
  %7 = stablehlo.multiply %6, %6 : !s
  %8 = stablehlo.multiply %7, %7 : !s
  %9 = stablehlo.multiply %8, %8 : !s
  %10 = stablehlo.multiply %9, %9 : !s
  %11 = stablehlo.multiply %10, %10 : !s
  %12 = stablehlo.multiply %11, %11 : !s
  %13 = stablehlo.multiply %12, %12 : !s
  %14 = stablehlo.multiply %13, %13 : !s
  %15 = stablehlo.multiply %14, %14 : !s
  %16 = stablehlo.multiply %15, %15 : !s
  %17 = stablehlo.multiply %16, %16 : !s
  %18 = stablehlo.multiply %17, %17 : !s
  %19 = stablehlo.multiply %18, %18 : !s
  %20 = stablehlo.multiply %19, %19 : !s
  %21 = stablehlo.multiply %20, %20 : !s
  %22 = stablehlo.multiply %21, %21 : !s
  %23 = stablehlo.multiply %22, %22 : !s
  %24 = stablehlo.multiply %23, %23 : !s
  %25 = stablehlo.multiply %24, %24 : !s
  %26 = stablehlo.multiply %25, %25 : !s
  %27 = stablehlo.multiply %26, %26 : !s
  %28 = stablehlo.multiply %27, %27 : !s
  %29 = stablehlo.multiply %28, %28 : !s
  %30 = stablehlo.multiply %29, %29 : !s
  %31 = stablehlo.multiply %30, %30 : !s
  %32 = stablehlo.multiply %31, %31 : !s
  %last = mpmd.assign %32 : (!s) -> !s2
  return %last : !s2
}

// What another operation is sent is there: the gradient of a weight is computed where the
// weight is, and the activation is sent once.

// CHECK-LABEL: func @gradient_of_weight
func.func @gradient_of_weight(%h: !w1, %w: !w2) -> !w attributes {topology = #topology} {
  // CHECK:      %[[H:.*]] = stablehlo.tanh
  // CHECK-NEXT: %[[KEPT:.*]] = mpmd.assign {origin = "fewest_bytes"} %[[H]] {{.*}} -> !mpmd.mesh_tensor<"m1"
  // CHECK-NEXT: %[[SENT:.*]] = mpmd.transfer %[[KEPT]] {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NEXT: %[[THERE:.*]] = mpmd.unassign {origin = "fewest_bytes"} %[[SENT]]
  // CHECK-NOT:  mpmd.transfer
  // CHECK:      %[[OUT:.*]] = stablehlo.dot_general %[[THERE]], %{{.*}}
  // CHECK-NEXT: %[[D:.*]] = stablehlo.tanh %[[OUT]]
  // CHECK-NEXT: stablehlo.dot_general %[[THERE]], %[[D]]
  %h0 = mpmd.unassign %h : (!w1) -> !w
  %w0 = mpmd.unassign %w : (!w2) -> !w
  %a = stablehlo.tanh %h0 : !w
  %out = stablehlo.dot_general %a, %w0, contracting_dims = [1] x [0] : (!w, !w) -> !w
  %d = stablehlo.tanh %out : !w
  %g = stablehlo.dot_general %a, %d, contracting_dims = [0] x [0] : (!w, !w) -> !w
  return %g : !w
}

// Where a reader decides, a multiple of a value and the value itself are one.

// CHECK-LABEL: func @reader_of_square
func.func @reader_of_square(%a: !w1, %b: !w2) -> !w2 attributes {topology = #topology} {
  // CHECK: mpmd.transfer %arg0 {{.*}} -> !mpmd.mesh_tensor<"m2"
  // CHECK-NOT: mpmd.transfer
  %a0 = mpmd.unassign %a : (!w1) -> !w
  %b0 = mpmd.unassign %b : (!w2) -> !w
  %g = stablehlo.dot_general %a0, %b0, contracting_dims = [1] x [0] : (!w, !w) -> !w
  %twice = stablehlo.add %g, %g : !w
  %square = stablehlo.multiply %twice, %g : !w
  %there = mpmd.assign %square : (!w) -> !w2
  return %there : !w2
}
