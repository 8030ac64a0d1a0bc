// RUN: mpmd-opt %s -mpmd-split-bwd-fragments=manual-computations=true -canonicalize -mpmd-fragment-dedup -mpmd-fragment-dce | FileCheck %s
// RUN: mpmd-opt %s -mpmd-split-bwd-fragments -canonicalize -mpmd-fragment-dedup -mpmd-fragment-dce | FileCheck %s --check-prefix=WHOLE

!t = tensor<8x4xf32>
!l = tensor<4x4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<8x4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<8x4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
sdy.mesh @mesh = <["x"=2]>
sdy.mesh @two = <["x"=2, "y"=2]>

// The gradient of the input is sent on, that of the weight is not. What both need
// crosses the cut: pieces of 4 x 4 make a tensor of 8 x 4.
// CHECK-LABEL: func @splits_experts
// CHECK:      %[[K:.*]]:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%{{.*}}, %{{.*}}) {split_keep_transferred} (%[[G:.*]]: tensor<8x4xf32>, %[[W:.*]]: tensor<8x4xf32>) {
// CHECK-NEXT:   %[[N:.*]] = stablehlo.negate %[[G]]
// CHECK-NEXT:   %[[E:.*]]:2 = sdy.manual_computation(%[[N]], %[[W]]) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%[[G1:.*]]: tensor<4x4xf32>, %[[W1:.*]]: tensor<4x4xf32>) {
// CHECK-NEXT:     %[[T:.*]] = stablehlo.tanh %[[G1]]
// CHECK-NEXT:     %[[D:.*]] = stablehlo.dot %[[T]], %[[W1]]
// CHECK-NEXT:     sdy.return %[[D]], %[[T]] :
// CHECK:        mpmd.return %[[E]]#0, %[[E]]#1 :
// CHECK:      %[[L:.*]] = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%{{.*}}, %[[K]]#1) {split_drop_transferred} (%[[X:.*]]: tensor<8x4xf32>, %[[C:.*]]: tensor<8x4xf32>) {
// CHECK-NEXT:   %[[F:.*]] = sdy.manual_computation({{.*}}) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"}
// CHECK-NEXT:     stablehlo.dot
// CHECK-NEXT:     sdy.return
// CHECK:      mpmd.transfer %[[K]]#0
// WHOLE-LABEL: func @splits_experts
// WHOLE:        stablehlo.dot
// WHOLE-NEXT:   stablehlo.dot
// WHOLE-NOT:  split_drop_transferred
func.func @splits_experts(%g: !m1, %w: !m1, %x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%g, %w, %x) (%i: !t, %b: !t, %c: !t) {
    %a = stablehlo.negate %i : !t
    %r:2 = sdy.manual_computation(%a, %b, %c) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: !l, %q: !l, %s: !l) {
      %t = stablehlo.tanh %p : !l
      %d = stablehlo.dot %t, %q : (!l, !l) -> !l
      %e = stablehlo.dot %t, %s : (!l, !l) -> !l
      sdy.return %d, %e : !l, !l
    } : (!t, !t, !t) -> (!t, !t)
    mpmd.return %r#1, %r#0 : !t, !t
  } : (!m1, !m1, !m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %t : !m1, !m2
}

// A scalar crosses as a tensor of one element of each device; an axis that is free in
// the body may split the rest.
// CHECK-LABEL: func @scalars_cross
// CHECK:      sdy.manual_computation({{.*}}) in_shardings=[<@two, [{"x"}, {}]>] out_shardings=[<@two, [{"x"}, {}]>, <@two, [{"x", ?}]>] manual_axes={"x"}
// CHECK:        %[[S:.*]] = stablehlo.reduce
// CHECK:        %[[R:.*]] = stablehlo.reshape %[[S]] : (tensor<f32>) -> tensor<1xf32>
// CHECK:        sdy.return %{{.*}}, %[[R]] :
// CHECK:      split_drop_transferred
// CHECK:      sdy.manual_computation({{.*}}) in_shardings=[<@two, [{"x", ?}]>, <@two, [{"x"}, {}]>]
// CHECK-NEXT:   %[[Q:.*]] = stablehlo.reshape %{{.*}} : (tensor<1xf32>) -> tensor<f32>
// CHECK-NEXT:   stablehlo.broadcast_in_dim %[[Q]]
func.func @scalars_cross(%g: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%g) (%a: !t) {
    %r:2 = sdy.manual_computation(%a) in_shardings=[<@two, [{"x"}, {}]>] out_shardings=[<@two, [{"x"}, {}]>, <@two, [{"x"}, {}]>] manual_axes={"x"} (%p: !l) {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (!l, tensor<f32>) -> tensor<f32>
      %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> !l
      %d = stablehlo.add %b, %p : !l
      %c = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> !l
      %e = stablehlo.dot %c, %p : (!l, !l) -> !l
      sdy.return %d, %e : !l, !l
    } : (!t) -> (!t, !t)
    mpmd.return %r#1, %r#0 : !t, !t
  } : (!m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %t : !m1, !m2
}

// Without a product in its late part it is not worth two programs' reads.
// CHECK-LABEL: func @keeps_cheap_ones
// CHECK:      sdy.manual_computation
// CHECK:        stablehlo.tanh
// CHECK:        stablehlo.negate
// CHECK-NOT:  sdy.manual_computation
func.func @keeps_cheap_ones(%g: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)]> (%g) (%a: !t) {
    %r:2 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: !l) {
      %t = stablehlo.tanh %p : !l
      %n = stablehlo.negate %t : !l
      sdy.return %t, %n : !l, !l
    } : (!t) -> (!t, !t)
    mpmd.return %r#1, %r#0 : !t, !t
  } : (!m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %t : !m1, !m2
}
