// RUN: mpmd-opt %s -split-input-file -mpmd-defer-reductions | FileCheck %s

// Each op that sums over devices, twice, so that one reduction is left.

!w = !mpmd.mesh_tensor<"m", tensor<7x4xf32>>
!i = !mpmd.mesh_tensor<"m", tensor<8x3x1xi32>>
!u = !mpmd.mesh_tensor<"m", tensor<8x3x4xf32>>

sdy.mesh @g = <["d"=2, "t"=2]>

// The gradient of an embedding: rows of the batch are added where tokens say.
// CHECK-LABEL: func @scatter
func.func @scatter(%i: !i, %u: !u) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2, "t"=2]>>>} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"], {{.*}}out_shardings=[<@g, [{"d"}, {}, {"t"}]>]>
  // CHECK: %[[I:.*]] = stablehlo.reshape %{{.*}}<@g, [{"d"}, {}, {}, {}]>{{.*}} -> tensor<2x4x3x1xi32>
  // CHECK: %[[U:.*]] = stablehlo.reshape %{{.*}}<@g, [{"d"}, {}, {}, {"t"}]>{{.*}} -> tensor<2x4x3x4xf32>
  // CHECK: %[[ZERO:.*]] = stablehlo.constant {{.*}}dense<0.000000e+00> : tensor<2x7x4xf32>
  // CHECK: "stablehlo.scatter"(%[[ZERO]], %[[I]], %[[U]])
  // CHECK-SAME: update_window_dims = [3], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 3>
  // CHECK: mpmd.return %{{.*}} : tensor<2x7x4xf32>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}, {}]>, <@g, [{"d"}, {}, {"t"}]>], out_shardings=[<@g, [{}, {"t"}]>]>
      (%i, %u) (%a: tensor<8x3x1xi32>, %b: tensor<8x3x4xf32>) {
    %zero = sdy.constant dense<0.0> : tensor<f32>
    %z = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<7x4xf32>
    %s = "stablehlo.scatter"(%z, %a, %b) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %t = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"t"}]>]>} : (tensor<7x4xf32>, tensor<8x3x1xi32>, tensor<8x3x4xf32>) -> tensor<7x4xf32>
    mpmd.return %s : tensor<7x4xf32>
  } : (!i, !u) -> !w
  // CHECK: %[[S:.*]] = "stablehlo.scatter"
  // CHECK: %[[SUM:.*]] = stablehlo.add %{{.*}}, %[[S]] {{.*}} : tensor<2x7x4xf32>
  // CHECK: stablehlo.reduce(%[[SUM]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}, {}]>, <@g, [{"d"}, {}, {"t"}]>, <@g, [{}, {"t"}]>], out_shardings=[<@g, [{}, {"t"}]>]>
      (%i, %u, %0) (%a: tensor<8x3x1xi32>, %b: tensor<8x3x4xf32>, %c: tensor<7x4xf32>) {
    %z = sdy.constant dense<0.0> : tensor<7x4xf32>
    %s = "stablehlo.scatter"(%z, %a, %b) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %t = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"t"}]>]>} : (tensor<7x4xf32>, tensor<8x3x1xi32>, tensor<8x3x4xf32>) -> tensor<7x4xf32>
    %n = stablehlo.add %c, %s : tensor<7x4xf32>
    mpmd.return %n : tensor<7x4xf32>
  } : (!i, !u, !w) -> !w
  return %1 : !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<3x3x2x5xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<9x6x6x2xf32>>
!y = !mpmd.mesh_tensor<"m", tensor<9x4x4x5xf32>>

sdy.mesh @g = <["d"=3]>

// The gradient of a kernel contracts the rows of the batch.
// CHECK-LABEL: func @convolution
func.func @convolution(%x: !x, %y: !y) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=3]>>>} {
  // CHECK: %[[X:.*]] = stablehlo.reshape %{{.*}}<@g, [{"d"}, {}, {}, {}, {}]>{{.*}} -> tensor<3x3x6x6x2xf32>
  // CHECK: %[[Y:.*]] = stablehlo.reshape %{{.*}}<@g, [{"d"}, {}, {}, {}, {}]>{{.*}} -> tensor<3x3x4x4x5xf32>
  // CHECK: stablehlo.convolution(%[[X]], %[[Y]]) dim_numbers = [0, f, 1, 2, b]x[0, i, 1, 2, o]->[0, 1, 2, b, f], window = {stride = [2, 1, 1], pad = {{\[}}[0, 0], [1, -1], [1, -1]], lhs_dilate = [3, 1, 1], rhs_dilate = [1, 1, 1], reverse = [false, false, false]}
  // CHECK-SAME: -> tensor<3x3x3x2x5xf32>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}, {}, {}]>, <@g, [{"d"}, {}, {}, {}]>]>
      (%x, %y) (%a: tensor<9x6x6x2xf32>, %b: tensor<9x4x4x5xf32>) {
    %d = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, -1], [1, -1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<9x6x6x2xf32>, tensor<9x4x4x5xf32>) -> tensor<3x3x2x5xf32>
    mpmd.return %d : tensor<3x3x2x5xf32>
  } : (!x, !y) -> !w
  // CHECK: stablehlo.convolution{{.*}}window = {stride = [2, 1, 1], lhs_dilate = [3, 1, 1]}
  // CHECK: stablehlo.reduce
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}, {}, {}]>, <@g, [{"d"}, {}, {}, {}]>, <@g, [{}, {}, {}, {}]>]>
      (%x, %y, %0) (%a: tensor<9x6x6x2xf32>, %b: tensor<9x4x4x5xf32>, %c: tensor<3x3x2x5xf32>) {
    %d = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<9x6x6x2xf32>, tensor<9x4x4x5xf32>) -> tensor<3x3x2x5xf32>
    %n = stablehlo.add %c, %d : tensor<3x3x2x5xf32>
    mpmd.return %n : tensor<3x3x2x5xf32>
  } : (!x, !y, !w) -> !w
  return %1 : !w
}

// -----

!b = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<6x8x4xf32>>

sdy.mesh @g = <["d"=2]>

// The gradient of a bias is a sum over places and rows.
// CHECK-LABEL: func @bias
func.func @bias(%x: !x) -> !b attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: stablehlo.reshape {{.*}} -> tensor<6x2x4x4xf32>
  // CHECK-NEXT: %[[FRONT:.*]] = stablehlo.transpose %{{.*}}, dims = [1, 0, 2, 3] {{.*}} -> tensor<2x6x4x4xf32>
  // CHECK: stablehlo.reduce(%[[FRONT]] init: %{{.*}}) applies stablehlo.add across dimensions = [1, 2]
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{}, {"d"}, {}]>]> (%x) (%a: tensor<6x8x4xf32>) {
    %z = sdy.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x8x4xf32>, tensor<f32>) -> tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!x) -> !b
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1, 2]
  // CHECK: stablehlo.add {{.*}} : tensor<2x4xf32>
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0]
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{}, {"d"}, {}]>, <@g, [{}]>]> (%x, %0) (%a: tensor<6x8x4xf32>, %c: tensor<4xf32>) {
    %z = sdy.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %n = stablehlo.add %c, %r : tensor<4xf32>
    mpmd.return %n : tensor<4xf32>
  } : (!x, !b) -> !b
  return %1 : !b
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!v = !mpmd.mesh_tensor<"n", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
!y = !mpmd.mesh_tensor<"n", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// A weight that two meshes read: each adds up its own parts, and what crosses is
// the sum of all microbatches.
// CHECK-LABEL: func @two_meshes
func.func @two_meshes(%x: !x, %y: !y) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>, <"n" : <["d"=2]>>>} {
  // CHECK: mpmd.return %{{.*}} : tensor<2x4x4xf32>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d : tensor<4x4xf32>
  } : (!x) -> !w
  // CHECK: mpmd.return %{{.*}} : tensor<2x4x4xf32>
  %1 = mpmd.fragment<mesh="n", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>]> (%y) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d : tensor<4x4xf32>
  } : (!y) -> !v
  // CHECK: mpmd.fragment<mesh="n", origin=["g"]
  // CHECK: stablehlo.add {{.*}} : tensor<2x4x4xf32>
  // CHECK: %[[SUM:.*]] = stablehlo.reduce
  // CHECK-NEXT: mpmd.return %[[SUM]] : tensor<4x4xf32>
  %2 = mpmd.fragment<mesh="n", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {}]>]> (%y, %1) (%a: tensor<8x4xf32>, %c: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.add %c, %d : tensor<4x4xf32>
    mpmd.return %s : tensor<4x4xf32>
  } : (!y, !v) -> !v
  %3 = mpmd.transfer %2 : (!v) -> !w
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]
  // CHECK: stablehlo.add {{.*}} : tensor<2x4x4xf32>
  // CHECK: %[[OWN:.*]] = stablehlo.reduce
  // CHECK: stablehlo.add %[[OWN]], %{{.*}} : tensor<4x4xf32>
  %4 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {}]>, <@g, [{}, {}]>]> (%x, %0, %3) (%a: tensor<8x4xf32>, %c: tensor<4x4xf32>, %o: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.add %c, %d : tensor<4x4xf32>
    %t = stablehlo.add %s, %o : tensor<4x4xf32>
    mpmd.return %t : tensor<4x4xf32>
  } : (!x, !w, !w) -> !w
  return %4 : !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// An optimizer with moments: the square needs the sum, so the average reads it.
// CHECK-LABEL: func @moments
func.func @moments(%x: !x, %m: !w) -> (!w, !w) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: mpmd.return %{{.*}} : tensor<2x4x4xf32>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d : tensor<4x4xf32>
  } : (!x) -> !w
  // CHECK: stablehlo.add {{.*}} : tensor<2x4x4xf32>
  // CHECK: %[[SUM:.*]] = stablehlo.reduce
  // CHECK-NOT: stablehlo.reduce
  // CHECK: stablehlo.multiply %[[SUM]], %{{.*}} : tensor<4x4xf32>
  // CHECK: stablehlo.multiply %[[SUM]], %[[SUM]] : tensor<4x4xf32>
  %1:2 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {}]>, <@g, [{}, {}]>]> (%x, %0, %m) (%a: tensor<8x4xf32>, %c: tensor<4x4xf32>, %o: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.add %c, %d : tensor<4x4xf32>
    %tenth = sdy.constant dense<0.1> : tensor<4x4xf32>
    %t = stablehlo.multiply %s, %tenth : tensor<4x4xf32>
    %u = stablehlo.add %o, %t : tensor<4x4xf32>
    %v = stablehlo.multiply %s, %s : tensor<4x4xf32>
    mpmd.return %u, %v : tensor<4x4xf32>, tensor<4x4xf32>
  } : (!x, !w, !w) -> (!w, !w)
  return %1#0, %1#1 : !w, !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
!i = !mpmd.mesh_tensor<"m", tensor<i32>>

sdy.mesh @g = <["d"=2, "t"=2]>

// The gradient of one array that holds two weights: parts of it and what is put
// together of them stay as they are, as do differences, and constraints that say
// nothing of the axis.
// CHECK-LABEL: func @parts_of_a_weight
func.func @parts_of_a_weight(%x: !x, %i: !i) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2, "t"=2]>>>} {
  // CHECK: %[[DOT:.*]] = stablehlo.dot_general {{.*}} -> tensor<2x4x4xf32>
  // CHECK: %[[TOP:.*]] = stablehlo.slice %[[DOT]] [0:2, 0:2, 0:4]
  // CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<i32>
  // CHECK: %[[SOME:.*]] = stablehlo.dynamic_slice %[[DOT]], %[[ZERO]], %{{.*}}, %{{.*}}, sizes = [2, 2, 4]
  // CHECK: %[[PADDED:.*]] = stablehlo.pad %[[TOP]], %{{.*}}, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0]
  // CHECK: %[[JOINED:.*]] = stablehlo.concatenate %[[TOP]], %[[SOME]], dim = 1 {{.*}} -> tensor<2x4x4xf32>
  // CHECK: %[[LESS:.*]] = stablehlo.subtract %[[JOINED]], %[[PADDED]] {{.*}} : tensor<2x4x4xf32>
  // CHECK: %[[SAID:.*]] = sdy.sharding_constraint %[[LESS]] <@g, [{"d"}, {}, {"t"}]> : tensor<2x4x4xf32>
  // CHECK-NEXT: mpmd.return %[[SAID]]
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, []>]> (%x, %i) (%a: tensor<8x4xf32>, %n: tensor<i32>) {
    %zero = sdy.constant dense<0.0> : tensor<f32>
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %t = stablehlo.slice %d [0:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %s = stablehlo.dynamic_slice %d, %n, %n, sizes = [2, 4] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
    %p = stablehlo.pad %t, %zero, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %j = stablehlo.concatenate %t, %s, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %l = stablehlo.subtract %j, %p : tensor<4x4xf32>
    %c = sdy.sharding_constraint %l <@g, [{}, {"t"}]> : tensor<4x4xf32>
    mpmd.return %c : tensor<4x4xf32>
  } : (!x, !i) -> !w
  // CHECK: stablehlo.add {{.*}} : tensor<2x4x4xf32>
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0]
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {}]>]> (%x, %0) (%a: tensor<8x4xf32>, %c: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %n = stablehlo.add %c, %d : tensor<4x4xf32>
    mpmd.return %n : tensor<4x4xf32>
  } : (!x, !w) -> !w
  return %1 : !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// Fragments that say nothing of shardings themselves, as inferred sums of two
// gradients do.
// CHECK-LABEL: func @sums_without_shardings
func.func @sums_without_shardings(%x: !x) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %n = stablehlo.negate %a : tensor<8x4xf32>
    %e = stablehlo.dot_general %n, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d, %e : tensor<4x4xf32>, tensor<4x4xf32>
  } : (!x) -> (!w, !w)
  // CHECK: mpmd.fragment<mesh="m", origin=[], in_shardings=[<@g, [{"d"}, {}, {}]>, <@g, [{"d"}, {}, {}]>], out_shardings=[<@g, [{"d"}, {}, {}]>]>
  // CHECK-NEXT: stablehlo.add {{.*}} : tensor<2x4x4xf32>
  %1 = mpmd.fragment<mesh="m", origin=[]> (%0#0, %0#1) (%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) {
    %s = stablehlo.add %a, %b : tensor<4x4xf32>
    mpmd.return %s : tensor<4x4xf32>
  } : (!w, !w) -> !w
  // CHECK: mpmd.fragment<mesh="m", origin=["h"], in_shardings=[<@g, [{"d"}, {}, {}]>]>
  // CHECK: stablehlo.reduce
  %2 = mpmd.fragment<mesh="m", origin=["h"]> (%1) (%a: tensor<4x4xf32>) {
    %t = stablehlo.tanh %a : tensor<4x4xf32>
    mpmd.return %t : tensor<4x4xf32>
  } : (!w) -> !w
  return %2 : !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xcomplex<f32>>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xcomplex<f32>>>

sdy.mesh @g = <["d"=2]>
sdy.mesh @one = <[], device_ids=[0]>
sdy.mesh @other = <["q"=2]>

// Complex numbers have a zero as well. What is said of a product on another mesh
// is said of its sum.
// CHECK-LABEL: func @complex_numbers
func.func @complex_numbers(%x: !x) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: stablehlo.dot_general {{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}, {}]>]>} : {{.*}} -> tensor<2x4x4xcomplex<f32>>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%x) (%a: tensor<8x4xcomplex<f32>>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<8x4xcomplex<f32>>, tensor<8x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
    mpmd.return %d : tensor<4x4xcomplex<f32>>
  } : (!x) -> !w
  // CHECK: %[[HALF:.*]] = stablehlo.constant dense<(5.000000e-01,1.000000e+00)> : tensor<2x4x4xcomplex<f32>>
  // CHECK: stablehlo.multiply %{{.*}}, %[[HALF]]
  // CHECK: %[[ZERO:.*]] = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
  // CHECK: stablehlo.reduce(%{{.*}} init: %[[ZERO]]) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@other, [{"q"}, {}]>]>}
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {}]>]> (%x, %0) (%a: tensor<8x4xcomplex<f32>>, %c: tensor<4x4xcomplex<f32>>) {
    %half = stablehlo.constant dense<(0.5, 1.0)> : tensor<4x4xcomplex<f32>>
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xcomplex<f32>>, tensor<8x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
    %s = stablehlo.add %c, %d : tensor<4x4xcomplex<f32>>
    %n = stablehlo.multiply %s, %half {sdy.sharding = #sdy.sharding_per_value<[<@other, [{"q"}, {}]>]>} : tensor<4x4xcomplex<f32>>
    mpmd.return %n : tensor<4x4xcomplex<f32>>
  } : (!x, !w) -> !w
  return %1 : !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// The fragments that make the zeros and read the sum have no sharding at all.
// CHECK-LABEL: func @zeros_without_shardings
func.func @zeros_without_shardings(%x: !x) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: mpmd.fragment<mesh="m", origin=["z"], out_shardings=[<@g, [{"d"}, {}, {}]>]>
  // CHECK: %[[ZERO:.*]] = stablehlo.constant {{.*}} : tensor<2x4x4xf32>
  // CHECK-NEXT: mpmd.return %[[ZERO]]
  %z = mpmd.fragment<mesh="m", origin=["z"]> () () {
    %c = stablehlo.constant dense<0.0> : tensor<4x4xf32>
    mpmd.return %c : tensor<4x4xf32>
  } : () -> !w
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {}]>]> (%x, %z) (%a: tensor<8x4xf32>, %c: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.add %d, %c : tensor<4x4xf32>
    mpmd.return %e : tensor<4x4xf32>
  } : (!x, !w) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {}]>]> (%x, %0) (%a: tensor<8x4xf32>, %c: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.add %d, %c : tensor<4x4xf32>
    mpmd.return %e : tensor<4x4xf32>
  } : (!x, !w) -> !w
  // CHECK: mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}, {}]>]>
  // CHECK: stablehlo.reduce
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%1) (%a: tensor<4x4xf32>) {
    %t = stablehlo.sine %a : tensor<4x4xf32>
    mpmd.return %t : tensor<4x4xf32>
  } : (!w) -> !w
  return %2 : !w
}
