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
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: stablehlo.add adds what these devices do not sum up, too

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
// WHY: remark: [Missed] not deferred{{.*}}stablehlo.dot_general are reduced at once: a sharding constraint asks for the sum

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
