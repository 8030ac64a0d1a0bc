// RUN: mpmd-opt %s -mpmd-repeat-views | FileCheck %s

!w = tensor<4x6xf32>
!v = tensor<24xf32>
#topology = #mpmd.topology<<"m": <["x"=4]>>>
sdy.mesh @mesh = <["x"=4]>
sdy.mesh @two = <["x"=4, "y"=2]>

// A forward returns a weight in another shape for its backward.
// CHECK-LABEL: func @reads_what_is_reshaped
// CHECK-SAME:    (%[[W:.*]]: tensor<4x6xf32>, %[[X:.*]]: tensor<24xf32>)
func.func @reads_what_is_reshaped(%w: !w, %x: !v) -> !v attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.named_computation<"f"> (%[[W]], %[[X]]) (%[[A:.*]]: tensor<4x6xf32>, %[[B:.*]]: tensor<24xf32>) {
  // CHECK-NEXT:   %[[V:.*]] = stablehlo.reshape %[[A]]
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %[[B]], %[[V]]
  // CHECK-NEXT:   mpmd.return %[[S]] :
  %f:2 = mpmd.named_computation<"f"> (%w, %x) (%a: !w, %b: !v) {
    %v = stablehlo.reshape %a : (!w) -> !v
    %s = stablehlo.add %b, %v : !v
    mpmd.return %v, %s : !v, !v
  } : (!w, !v) -> (!v, !v)
  // CHECK: %[[G:.*]] = mpmd.named_computation<"f"(1)> (%[[F]], %[[W]]) (%[[C:.*]]: tensor<24xf32>, %[[D:.*]]: tensor<4x6xf32>) {
  // CHECK-NEXT:   %[[R:.*]] = stablehlo.reshape %[[D]]
  // CHECK-NEXT:   %[[M:.*]] = stablehlo.multiply %[[C]], %[[R]]
  // CHECK-NEXT:   mpmd.return %[[M]]
  %g = mpmd.named_computation<"f"(1)> (%f#0, %f#1) (%v: !v, %s: !v) {
    %m = stablehlo.multiply %s, %v : !v
    mpmd.return %m : !v
  } : (!v, !v) -> !v
  // CHECK: return %[[G]]
  return %g : !v
}

// Of several views the later do not move the earlier ones.
// CHECK-LABEL: func @reads_several
// CHECK-SAME:    (%[[W:.*]]: tensor<4x6xf32>, %[[C:.*]]: tensor<f32>)
func.func @reads_several(%w: !w, %c: tensor<f32>) -> (!v, !v, !v) attributes {topology = #topology} {
  // CHECK: %[[F:.*]] = mpmd.named_computation<"f"> (%[[W]], %[[C]])
  // CHECK:   %[[N:.*]] = stablehlo.negate
  // CHECK:   mpmd.return %[[N]] :
  %f:3 = mpmd.named_computation<"f"> (%w, %c) (%a: !w, %b: tensor<f32>) {
    %v = stablehlo.reshape %a : (!w) -> !v
    %n = stablehlo.negate %v : !v
    %all = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> !v
    mpmd.return %v, %n, %all : !v, !v, !v
  } : (!w, tensor<f32>) -> (!v, !v, !v)
  // CHECK: mpmd.named_computation<"f"(1)> (%[[F]], %[[W]], %[[C]]) (%[[N1:.*]]: tensor<24xf32>, %[[W1:.*]]: tensor<4x6xf32>, %[[C1:.*]]: tensor<f32>) {
  // CHECK-DAG:  %[[V1:.*]] = stablehlo.reshape %[[W1]]
  // CHECK-DAG:  %[[ALL1:.*]] = stablehlo.broadcast_in_dim %[[C1]]
  // CHECK:      mpmd.return %[[V1]], %[[N1]], %[[ALL1]]
  %g:3 = mpmd.named_computation<"f"(1)> (%f#0, %f#1, %f#2) (%p: !v, %q: !v, %r: !v) {
    mpmd.return %p, %q, %r : !v, !v, !v
  } : (!v, !v, !v) -> (!v, !v, !v)
  return %g#0, %g#1, %g#2 : !v, !v, !v
}

// Another name may be on another mesh, and the caller has no name.
// CHECK-LABEL: func @keeps_what_others_read
func.func @keeps_what_others_read(%w: !w) -> (!v, !v) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.named_computation<"f">
  // CHECK-NEXT:   %[[V:.*]] = stablehlo.reshape
  // CHECK-NEXT:   mpmd.return %[[V]]
  %f = mpmd.named_computation<"f"> (%w) (%a: !w) {
    %v = stablehlo.reshape %a : (!w) -> !v
    mpmd.return %v : !v
  } : (!w) -> !v
  // CHECK: %[[G:.*]] = mpmd.named_computation<"g"> (%[[F]])
  %g = mpmd.named_computation<"g"> (%f) (%v: !v) {
    %n = stablehlo.negate %v : !v
    mpmd.return %n : !v
  } : (!v) -> !v
  // CHECK: return %[[F]], %[[G]]
  return %f, %g : !v, !v
}

// What is computed is kept.
// CHECK-LABEL: func @keeps_what_is_computed
func.func @keeps_what_is_computed(%w: !w) -> !w attributes {topology = #topology} {
  // CHECK: %[[F:.*]] = mpmd.named_computation<"f">
  %f = mpmd.named_computation<"f"> (%w) (%a: !w) {
    %t = stablehlo.tanh %a : !w
    mpmd.return %t : !w
  } : (!w) -> !w
  // CHECK: mpmd.named_computation<"f"(1)> (%[[F]])
  %g = mpmd.named_computation<"f"(1)> (%f) (%t: !w) {
    %n = stablehlo.negate %t : !w
    mpmd.return %n : !w
  } : (!w) -> !w
  return %g : !w
}

// The body of a manual computation has a piece of the weight.
// CHECK-LABEL: func @reads_pieces
// CHECK-SAME:    (%[[W:.*]]: tensor<4x6xf32>)
func.func @reads_pieces(%w: !w) -> !v attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.named_computation<"f"> (%[[W]]) (%[[A:.*]]: tensor<4x6xf32>) {
  // CHECK-NEXT:   %[[P:.*]] = sdy.manual_computation(%[[A]]) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%[[L:.*]]: tensor<1x6xf32>) {
  // CHECK-NEXT:     %[[V:.*]] = stablehlo.reshape %[[L]] : (tensor<1x6xf32>) -> tensor<6xf32>
  // CHECK-NEXT:     %[[N:.*]] = stablehlo.negate %[[V]]
  // CHECK-NEXT:     sdy.return %[[N]] :
  // CHECK:        mpmd.return %[[P]] :
  %f:2 = mpmd.named_computation<"f"> (%w) (%a: !w) {
    %p:2 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%l: tensor<1x6xf32>) {
      %v = stablehlo.reshape %l : (tensor<1x6xf32>) -> tensor<6xf32>
      %n = stablehlo.negate %v : tensor<6xf32>
      sdy.return %v, %n : tensor<6xf32>, tensor<6xf32>
    } : (!w) -> (!v, !v)
    mpmd.return %p#0, %p#1 : !v, !v
  } : (!w) -> (!v, !v)
  // CHECK: mpmd.named_computation<"f"(1)> (%[[F]], %[[W]]) (%[[B:.*]]: tensor<24xf32>, %[[C:.*]]: tensor<4x6xf32>) {
  // CHECK-NEXT:   %[[Q:.*]] = sdy.manual_computation(%[[C]]) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%[[M:.*]]: tensor<1x6xf32>) {
  // CHECK-NEXT:     %[[R:.*]] = stablehlo.reshape %[[M]] : (tensor<1x6xf32>) -> tensor<6xf32>
  // CHECK-NEXT:     sdy.return %[[R]] :
  // CHECK:        stablehlo.multiply %[[B]], %[[Q]]
  %g = mpmd.named_computation<"f"(1)> (%f#0, %f#1) (%v: !v, %n: !v) {
    %m = stablehlo.multiply %n, %v : !v
    mpmd.return %m : !v
  } : (!v, !v) -> !v
  return %g : !v
}

// Along "y" all devices have the piece: it may come from parts that are gathered.
// CHECK-LABEL: func @keeps_what_may_be_gathered
func.func @keeps_what_may_be_gathered(%w: !w) -> !v attributes {topology = #topology} {
  // CHECK: %[[F:.*]] = mpmd.named_computation<"f">
  %f = mpmd.named_computation<"f"> (%w) (%a: !w) {
    %p = sdy.manual_computation(%a) in_shardings=[<@two, [{"x"}, {}]>] out_shardings=[<@two, [{"x"}]>] manual_axes={"x", "y"} (%l: tensor<1x6xf32>) {
      %v = stablehlo.reshape %l : (tensor<1x6xf32>) -> tensor<6xf32>
      sdy.return %v : tensor<6xf32>
    } : (!w) -> !v
    mpmd.return %p : !v
  } : (!w) -> !v
  // CHECK: mpmd.named_computation<"f"(1)> (%[[F]])
  %g = mpmd.named_computation<"f"(1)> (%f) (%v: !v) {
    %m = stablehlo.negate %v : !v
    mpmd.return %m : !v
  } : (!v) -> !v
  return %g : !v
}

// What is computed, and kept the other way round, is kept as it is.
// CHECK-LABEL: func @transposes_where_it_is_read
func.func @transposes_where_it_is_read(%x: !w) -> (!w, !w) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]]:2 = mpmd.named_computation<"f"> (%{{.*}}) (%[[A:.*]]: tensor<4x6xf32>) {
  // CHECK-NEXT:   %[[K:.*]] = stablehlo.tanh %[[A]]
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.transpose %[[K]]
  // CHECK-NEXT:   %[[R:.*]] = stablehlo.reshape %[[T]]
  // CHECK-NEXT:   %[[N:.*]] = stablehlo.negate %[[T]]
  // CHECK-NEXT:   mpmd.return %[[K]], %[[N]] : tensor<4x6xf32>, tensor<6x4xf32>
  // CHECK-NEXT: } : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<6x4xf32>)
  %f:2 = mpmd.named_computation<"f"> (%x) (%a: !w) {
    %k = stablehlo.tanh %a : !w
    %t = stablehlo.transpose %k, dims = [1, 0] : (!w) -> tensor<6x4xf32>
    %r = stablehlo.reshape %t : (tensor<6x4xf32>) -> !v
    %n = stablehlo.negate %t : tensor<6x4xf32>
    mpmd.return %r, %n : !v, tensor<6x4xf32>
  } : (!w) -> (!v, tensor<6x4xf32>)
  // CHECK-NEXT: mpmd.named_computation<"f"(1)> (%[[F]]#0, %[[F]]#1) (%[[K:.*]]: tensor<4x6xf32>, %[[N:.*]]: tensor<6x4xf32>) {
  // CHECK-NEXT:   %[[T:.*]] = stablehlo.transpose %[[K]], dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // CHECK-NEXT:   %[[R:.*]] = stablehlo.reshape %[[T]] : (tensor<6x4xf32>) -> tensor<24xf32>
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.reshape %[[R]] : (tensor<24xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT:   %[[M:.*]] = stablehlo.reshape %[[N]] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT:   mpmd.return %[[S]], %[[M]]
  %g:2 = mpmd.named_computation<"f"(1)> (%f#0, %f#1) (%p: !v, %q: tensor<6x4xf32>) {
    %s = stablehlo.reshape %p : (!v) -> !w
    %m = stablehlo.reshape %q : (tensor<6x4xf32>) -> !w
    mpmd.return %s, %m : !w, !w
  } : (!v, tensor<6x4xf32>) -> (!w, !w)
  return %g#0, %g#1 : !w, !w
}

// A reshaped value stays, unless it is kept in both shapes.
// CHECK-LABEL: func @reshapes_where_both_are_kept
func.func @reshapes_where_both_are_kept(%x: !w) -> !v attributes {topology = #topology} {
  // CHECK: %[[F:.*]]:3 = mpmd.named_computation<"f">
  // CHECK:   %[[K:.*]] = stablehlo.tanh
  // CHECK:   %[[N:.*]] = stablehlo.negate
  // CHECK:   %[[O:.*]] = stablehlo.reshape %[[N]]
  // CHECK:   mpmd.return %[[K]], %[[K]], %[[O]] : tensor<4x6xf32>, tensor<4x6xf32>, tensor<24xf32>
  %f:3 = mpmd.named_computation<"f"> (%x) (%a: !w) {
    %k = stablehlo.tanh %a : !w
    %l = stablehlo.reshape %k : (!w) -> !v
    %n = stablehlo.negate %a : !w
    %o = stablehlo.reshape %n : (!w) -> !v
    mpmd.return %k, %l, %o : !w, !v, !v
  } : (!w) -> (!w, !v, !v)
  // CHECK: mpmd.named_computation<"f"(1)> (%[[F]]#0, %[[F]]#1, %[[F]]#2) (%{{.*}}: tensor<4x6xf32>, %[[P:.*]]: tensor<4x6xf32>, %{{.*}}: tensor<24xf32>) {
  // CHECK-NEXT:   stablehlo.reshape %[[P]] : (tensor<4x6xf32>) -> tensor<24xf32>
  %g = mpmd.named_computation<"f"(1)> (%f#0, %f#1, %f#2) (%k: !w, %l: !v, %o: !v) {
    %m = stablehlo.multiply %l, %o : !v
    mpmd.return %m : !v
  } : (!w, !v, !v) -> !v
  return %g : !v
}

// What others read, too, stays transposed; a weight is read itself.
// CHECK-LABEL: func @stays_transposed_for_others
// CHECK-SAME:    (%[[W:.*]]: tensor<4x6xf32>)
func.func @stays_transposed_for_others(%w: !w) -> (tensor<6x4xf32>, tensor<6x4xf32>) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.named_computation<"f"> (%[[W]])
  // CHECK:        %[[T:.*]] = stablehlo.transpose
  // CHECK:        mpmd.return %[[T]] : tensor<6x4xf32>
  %f:2 = mpmd.named_computation<"f"> (%w) (%a: !w) {
    %k = stablehlo.tanh %a : !w
    %t = stablehlo.transpose %k, dims = [1, 0] : (!w) -> tensor<6x4xf32>
    %v = stablehlo.transpose %a, dims = [1, 0] : (!w) -> tensor<6x4xf32>
    mpmd.return %t, %v : tensor<6x4xf32>, tensor<6x4xf32>
  } : (!w) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  // CHECK: mpmd.named_computation<"f"(1)> (%[[F]], %[[W]]) (%[[P:.*]]: tensor<6x4xf32>, %[[A:.*]]: tensor<4x6xf32>) {
  // CHECK-NEXT:   %[[V:.*]] = stablehlo.transpose %[[A]]
  // CHECK-NEXT:   stablehlo.add %[[P]], %[[V]]
  %g = mpmd.named_computation<"f"(1)> (%f#0, %f#1) (%p: tensor<6x4xf32>, %q: tensor<6x4xf32>) {
    %m = stablehlo.add %p, %q : tensor<6x4xf32>
    mpmd.return %m : tensor<6x4xf32>
  } : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %f#0, %g : tensor<6x4xf32>, tensor<6x4xf32>
}
