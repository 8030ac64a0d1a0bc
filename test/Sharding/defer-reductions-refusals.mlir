// RUN: mpmd-opt %s -split-input-file -mpmd-defer-reductions | FileCheck %s
// RUN: mpmd-opt %s -split-input-file -mpmd-defer-reductions -remarks-filter=.* -remark-policy=all -remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// What is not linear needs each sum at once.
// CHECK-LABEL: func @nonlinear
// CHECK-NOT: tensor<2x
func.func @nonlinear(%x: !x) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]>
      (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %t = stablehlo.tanh %d : tensor<4x4xf32>
    mpmd.return %t : tensor<4x4xf32>
  } : (!x) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {}]>]>
      (%x, %0) (%a: tensor<8x4xf32>, %c: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.add %c, %d : tensor<4x4xf32>
    mpmd.return %s : tensor<4x4xf32>
  } : (!x, !w) -> !w
  return %1 : !w
}
// WHY: remark: [Missed] not deferred{{.*}}the partial sums of stablehlo.dot_general are reduced at once: stablehlo.tanh is not linear in the sum, and waiting would save nothing
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: stablehlo.add also adds a value that these devices do not sum

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xbf16>>
!v = !mpmd.mesh_tensor<"n", tensor<4x4xbf16>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// A narrower type would round each partial sum; a transfer sends the sum.
// CHECK-LABEL: func @narrow_and_transfer
// CHECK-NOT: tensor<2x
func.func @narrow_and_transfer(%x: !x) -> (!v, !v) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>, <"n" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]>
      (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %c = stablehlo.convert %d : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    mpmd.return %c : tensor<4x4xbf16>
  } : (!x) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>]>
      (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xbf16>
    mpmd.return %d : tensor<4x4xbf16>
  } : (!x) -> !w
  %2 = mpmd.transfer %0 : (!w) -> !v
  %3 = mpmd.transfer %1 : (!w) -> !v
  return %2, %3 : !v, !v
}
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: stablehlo.convert to bf16 would round each of them
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: it is sent to mesh "n"

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// Results of the program are whole, and so is what a user constrains.
// CHECK-LABEL: func @output_and_constraint
// CHECK-NOT: tensor<2x
func.func @output_and_constraint(%x: !x) -> (!w, !w) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d : tensor<4x4xf32>
  } : (!x) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>]> (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %c = sdy.sharding_constraint %d <@g, [{"d"}p1, {}]> : tensor<4x4xf32>
    mpmd.return %c : tensor<4x4xf32>
  } : (!x) -> !w
  return %0, %1 : !w, !w
}
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: the program returns it
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: a sharding constraint of priority 1 asks for the sum

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!p = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, memory_kind="pinned_host">
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// CHECK-LABEL: func @other_memory
// CHECK-NOT: tensor<2x
func.func @other_memory(%x: !x) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d : tensor<4x4xf32>
  } : (!x) -> !p
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0) (%a: tensor<4x4xf32>) {
    mpmd.return %a : tensor<4x4xf32>
  } : (!p) -> !w
  return %1 : !w
}
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: another memory holds it

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
!i = !mpmd.mesh_tensor<"m", tensor<8x1xi32>>

sdy.mesh @g = <["d"=2]>

// A scatter that adds to something sums up more than these devices do.
// CHECK-LABEL: func @scatter_onto
// CHECK-NOT: tensor<2x4x4
// CHECK-NOT: stablehlo.reshape
func.func @scatter_onto(%x: !x, %i: !i, %w: !w) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>, <@g, [{}, {}]>]>
      (%x, %i, %w) (%a: tensor<8x4xf32>, %b: tensor<8x1xi32>, %c: tensor<4x4xf32>) {
    %s = "stablehlo.scatter"(%c, %b, %a) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %t = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) : (tensor<4x4xf32>, tensor<8x1xi32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %s : tensor<4x4xf32>
  } : (!x, !i, !w) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{}, {}]>]> (%0) (%a: tensor<4x4xf32>) {
    %n = stablehlo.add %a, %a : tensor<4x4xf32>
    mpmd.return %n : tensor<4x4xf32>
  } : (!w) -> !w
  return %1 : !w
}
// WHY: remark: [Missed] not deferred{{.*}}the partial sums of stablehlo.scatter are reduced at once: it adds to what is not zero

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
!y = !mpmd.mesh_tensor<"m", tensor<6x4xf32>>

sdy.mesh @g = <["d"=4, "e"=2]>

// What devices share in ways that cannot be left in parts: by a part of an axis,
// not evenly, by different axes, unreduced before.
// CHECK-LABEL: func @shares
// CHECK-NOT: stablehlo.reshape
func.func @shares(%x: !x, %y: !y) -> (!w, !w, !w, !w) attributes {
    topology = #mpmd.topology<<"m" : <["d"=4, "e"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d":(1)2}, {}]>]> (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d : tensor<4x4xf32>
  } : (!x) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%y) (%a: tensor<6x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d : tensor<4x4xf32>
  } : (!y) -> !w
  %2 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"e"}, {}]>]> (%x, %x) (%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d : tensor<4x4xf32>
  } : (!x, !x) -> !w
  %3 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"e"}, {}], unreduced={"d"}>]> (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d : tensor<4x4xf32>
  } : (!x) -> !w
  return %0, %1, %2, %3 : !w, !w, !w, !w
}
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: parts of axes split what it sums over
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: 4 devices share a dimension of 6, not evenly
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: its operands are split by different axes there
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: an operand is unreduced already

// -----

!w = !mpmd.mesh_tensor<"m", tensor<3x3x1x8xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x6x6x2xf32>>
!y = !mpmd.mesh_tensor<"m", tensor<8x4x4x8xf32>>

sdy.mesh @g = <["d"=2]>

// CHECK-LABEL: func @groups
// CHECK-NOT: stablehlo.reshape
func.func @groups(%x: !x, %y: !y) -> !w attributes {topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}, {}, {}]>, <@g, [{"d"}, {}, {}, {}]>]> (%x, %y) (%a: tensor<8x6x6x2xf32>, %b: tensor<8x4x4x8xf32>) {
    %d = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<8x6x6x2xf32>, tensor<8x4x4x8xf32>) -> tensor<3x3x1x8xf32>
    mpmd.return %d : tensor<3x3x1x8xf32>
  } : (!x, !y) -> !w
  return %0 : !w
}
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.convolution are reduced at once: it is one of groups

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!v = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
!i = !mpmd.mesh_tensor<"m", tensor<i32>>

sdy.mesh @g = <["d"=2]>

// Padding with what is not zero, joining with what is whole, a constraint that
// names the axis, and one that says that it splits nothing.
// CHECK-LABEL: func @pads_and_joins
// CHECK-NOT: tensor<2x4x4
func.func @pads_and_joins(%x: !x, %c: !w) -> (!v, !v, !w, !w) attributes {topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0:4 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{}, {}]>]> (%x, %c) (%a: tensor<8x4xf32>, %b: tensor<4x4xf32>) {
    %one = sdy.constant dense<1.0> : tensor<f32>
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %p = stablehlo.pad %d, %one, low = [4, 0], high = [0, 0], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %e = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %q = stablehlo.concatenate %e, %b, dim = 0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %f = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %r = sdy.sharding_constraint %f <@g, [{"d"}, {}]> : tensor<4x4xf32>
    %g = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %s = sdy.sharding_constraint %g <@g, [{}, {}], replicated={"d"}> : tensor<4x4xf32>
    mpmd.return %p, %q, %r, %s : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  } : (!x, !w) -> (!v, !v, !w, !w)
  return %0#0, %0#1, %0#2, %0#3 : !v, !v, !w, !w
}
// WHY: remark: [Missed] not deferred{{.*}}at once: stablehlo.pad is not linear in the sum
// WHY: remark: [Missed] not deferred{{.*}}at once: stablehlo.concatenate also joins a value that these devices do not sum
// WHY: remark: [Missed] not deferred{{.*}}at once: a sharding constraint asks for the sum
// WHY: remark: [Missed] not deferred{{.*}}at once: a sharding constraint asks for the sum

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// A loop needs what it starts from.
// CHECK-LABEL: func @reader_of_another_kind
// CHECK-NOT: tensor<2x4x4
func.func @reader_of_another_kind(%x: !x) -> !w attributes {topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%x) (%a: tensor<8x4xf32>) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    mpmd.return %d : tensor<4x4xf32>
  } : (!x) -> !w
  %1 = mpmd.for (%0) {iterations = 2 : ui32, unroll_factor = 1 : ui32} (%l: !w, %index: tensor<ui32>) {
    %2 = mpmd.fragment<mesh="m", origin=["g"]> (%l) (%a: tensor<4x4xf32>) {
      %e = stablehlo.add %a, %a : tensor<4x4xf32>
      mpmd.return %e : tensor<4x4xf32>
    } : (!w) -> !w
    mpmd.return %2 : !w
  } : !w
  return %1 : !w
}
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: mpmd.for reads it

// -----

!q = tensor<4x4x!quant.uniform<i32:f32, 1.0>>
!l = tensor<8x4x!quant.uniform<i8:f32, 1.0>>
!w = !mpmd.mesh_tensor<"m", !q>
!x = !mpmd.mesh_tensor<"m", !l>

sdy.mesh @g = <["d"=2]>
sdy.mesh @h = <["d"=2]>

// No constant zero can be written, and the axes are those of two meshes.
// CHECK-LABEL: func @quantized_and_two_meshes
// CHECK-NOT: stablehlo.reshape
func.func @quantized_and_two_meshes(%x: !x) -> (!w, !w) attributes {topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%x) (%a: !l) {
    %d = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (!l, !l) -> !q
    mpmd.return %d : !q
  } : (!x) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@h, [{"d"}, {}]>]> (%x, %x) (%a: !l, %b: !l) {
    %d = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (!l, !l) -> !q
    mpmd.return %d : !q
  } : (!x, !x) -> !w
  return %0, %1 : !w, !w
}
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: its type has no zero
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: its operands are split by axes of different meshes there
