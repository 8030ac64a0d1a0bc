// RUN: mpmd-opt %s -mpmd-align-between-meshes | FileCheck %s
// RUN: mpmd-opt %s -mpmd-align-between-meshes -mpmd-mark-aliasing-and-donation | FileCheck %s --check-prefix=MARKED

!l = tensor<4xf32>
!s = tensor<f32>
!a = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<4xf32>>
!sa = !mpmd.mesh_tensor<"a", tensor<f32>>
!sb = !mpmd.mesh_tensor<"b", tensor<f32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>
#uneven = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=4]>>>

// CHECK-LABEL: func @order_of_results
// CHECK:         %[[A:.*]]:2 = mpmd.fragment<mesh="a", origin=[]> (%arg0) {mpmd.keeps_scalars}
// CHECK:           mpmd.return %[[X:.*]], %[[Y:.*]] : tensor<4xf32>, tensor<4xf32>
// CHECK:         %[[B:.*]]:2 = mpmd.fragment<mesh="b", origin=[]> (%arg1) {mpmd.keeps_scalars}
// CHECK-NEXT:      %[[SINE:.*]] = stablehlo.sine
// CHECK-NEXT:      %[[COSINE:.*]] = stablehlo.cosine
// CHECK-NEXT:      mpmd.return %[[SINE]], %[[COSINE]]
// CHECK:         return %[[A]]#0, %[[A]]#1, %[[B]]#1, %[[B]]#0
func.func @order_of_results(%x: !a, %y: !b) -> (!a, !a, !b, !b) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: !l) {
    %s = stablehlo.sine %p : !l
    %c = stablehlo.cosine %p : !l
    mpmd.return %s, %c : !l, !l
  } : (!a) -> (!a, !a)
  %1:2 = mpmd.fragment<mesh="b", origin=[]> (%y) (%p: !l) {
    %s = stablehlo.sine %p : !l
    %c = stablehlo.cosine %p : !l
    mpmd.return %c, %s : !l, !l
  } : (!b) -> (!b, !b)
  return %0#0, %0#1, %1#0, %1#1 : !a, !a, !b, !b
}

// The marks of results go along, and what is returned twice is twice.

// CHECK-LABEL: func @returned_twice
// CHECK:         mpmd.fragment<mesh="a", origin=[]> (%arg0) {mpmd.keeps_scalars, res_attrs = [{mhlo.layout_mode = "{0}"}, {}, {}]}
// CHECK:         %[[B:.*]]:3 = mpmd.fragment<mesh="b", origin=[]> (%arg1) {mpmd.keeps_scalars, res_attrs = [{mhlo.layout_mode = "{0}"}, {}, {}]}
// CHECK:           %[[SINE:.*]] = stablehlo.sine
// CHECK-NEXT:      mpmd.return %[[SINE]], %[[SINE]], %{{.*}} : tensor
// CHECK:         return %{{.*}}, %[[B]]#1, %[[B]]#2, %[[B]]#0
func.func @returned_twice(%x: !a, %y: !b) -> (!a, !a, !a, !b, !b, !b) attributes {topology = #topology} {
  %0:3 = mpmd.fragment<mesh="a", origin=[]> (%x) {res_attrs = [{mhlo.layout_mode = "{0}"}, {}, {}]} (%p: !l) {
    %s = stablehlo.sine %p : !l
    mpmd.return %s, %s, %p : !l, !l, !l
  } : (!a) -> (!a, !a, !a)
  %1:3 = mpmd.fragment<mesh="b", origin=[]> (%y) {res_attrs = [{}, {}, {mhlo.layout_mode = "{0}"}]} (%p: !l) {
    %s = stablehlo.sine %p : !l
    mpmd.return %s, %p, %s : !l, !l, !l
  } : (!b) -> (!b, !b, !b)
  return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2 : !a, !a, !a, !b, !b, !b
}

// A count that one returns and a norm that the other one does, both of which both compute;
// and the mean of losses, with a constant that the update reads, too.

// CHECK-LABEL: func @scalars
// CHECK:         %[[A:.*]]:3 = mpmd.fragment<mesh="a", origin=[]> (%arg0, %arg1) {mpmd.keeps_scalars} (%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<f32>)
// CHECK:           mpmd.return %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<f32>, tensor<f32>
// CHECK:         %[[MEAN:.*]] = mpmd.fragment<mesh="b", origin=[]> (%arg2, %arg3) (%[[L0:.*]]: tensor<f32>, %[[L1:.*]]: tensor<f32>)
// CHECK-NEXT:      %[[FOUR:.*]] = stablehlo.constant dense<4.0
// CHECK-NEXT:      %[[SUM:.*]] = stablehlo.add %[[L0]], %[[L1]]
// CHECK-NEXT:      %[[QUOTIENT:.*]] = stablehlo.divide %[[SUM]], %[[FOUR]]
// CHECK-NEXT:      mpmd.return %[[QUOTIENT]]
// CHECK:         %[[B:.*]]:3 = mpmd.fragment<mesh="b", origin=[]> (%arg4, %arg5) {mpmd.keeps_scalars} (%[[P:.*]]: tensor<4xf32>, %[[N:.*]]: tensor<f32>)
// CHECK-NEXT:      %[[FOUR:.*]] = stablehlo.constant dense<4.0
// CHECK-NEXT:      %[[COUNT:.*]] = stablehlo.add %[[N]], %[[FOUR]]
// CHECK-NEXT:      %[[BY:.*]] = stablehlo.broadcast_in_dim %[[COUNT]]
// CHECK-NEXT:      %[[UPDATED:.*]] = stablehlo.multiply %[[P]], %[[BY]]
// CHECK-NEXT:      %[[NORM:.*]] = stablehlo.slice
// CHECK-NEXT:      %[[NORM0:.*]] = stablehlo.reshape %[[NORM]]
// CHECK-NEXT:      mpmd.return %[[UPDATED]], %[[COUNT]], %[[NORM0]]
// CHECK:         return %[[A]]#0, %[[A]]#1, %[[MEAN]], %[[B]]#0, %[[B]]#2
// MARKED-LABEL: func @scalars
// MARKED:         mpmd.fragment<mesh="a", origin=[]> (%arg0, %arg1) {arg_attrs = [{tf.aliasing_output = 0 : i32}, {}], mpmd.keeps_scalars}
// MARKED:         mpmd.fragment<mesh="b", origin=[]> (%arg4, %arg5) {arg_attrs = [{tf.aliasing_output = 0 : i32}, {}], mpmd.keeps_scalars}
func.func @scalars(%x: !a {tf.aliasing_output = 0 : i32}, %n: !sa {tf.aliasing_output = 1 : i32}, %l0: !sb, %l1: !sb, %y: !b {tf.aliasing_output = 3 : i32}, %m: !sb)
    -> (!a, !sa, !sb, !b, !sb) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="a", origin=[]> (%x, %n) (%p: !l, %q: !s) {
    %four = stablehlo.constant dense<4.0> : !s
    %count = stablehlo.add %q, %four : !s
    %by = stablehlo.broadcast_in_dim %count, dims = [] : (!s) -> !l
    %w = stablehlo.multiply %p, %by : !l
    %first = stablehlo.slice %w [0:1] : (!l) -> tensor<1xf32>
    %norm = stablehlo.reshape %first : (tensor<1xf32>) -> !s
    mpmd.return %w, %count : !l, !s
  } : (!a, !sa) -> (!a, !sa)
  %1:3 = mpmd.fragment<mesh="b", origin=[]> (%l0, %l1, %y, %m) (%a: !s, %b: !s, %p: !l, %q: !s) {
    %four = stablehlo.constant dense<4.0> : !s
    %sum = stablehlo.add %a, %b : !s
    %mean = stablehlo.divide %sum, %four : !s
    %count = stablehlo.add %q, %four : !s
    %by = stablehlo.broadcast_in_dim %count, dims = [] : (!s) -> !l
    %w = stablehlo.multiply %p, %by : !l
    %first = stablehlo.slice %w [0:1] : (!l) -> tensor<1xf32>
    %norm = stablehlo.reshape %first : (tensor<1xf32>) -> !s
    mpmd.return %mean, %w, %norm : !s, !l, !s
  } : (!sb, !sb, !b, !sb) -> (!sb, !b, !sb)
  return %0#0, %0#1, %1#0, %1#1, %1#2 : !a, !sa, !sb, !b, !sb
}

// A constant that one returns and the other does not, one that it reads itself, and one of
// both.

// CHECK-LABEL: func @constants
// CHECK:         %[[A:.*]]:5 = mpmd.fragment<mesh="a", origin=[]> (%arg0) {mpmd.keeps_scalars}
// CHECK-NEXT:      %[[TWO:.*]] = stablehlo.constant dense<2.0
// CHECK-NEXT:      %[[BY:.*]] = stablehlo.broadcast_in_dim %[[TWO]]
// CHECK-NEXT:      %[[TWICE:.*]] = stablehlo.multiply %{{.*}}, %[[BY]]
// CHECK-NEXT:      %[[ONE:.*]] = stablehlo.constant dense<1.0
// CHECK-NEXT:      %[[TWO1:.*]] = stablehlo.constant dense<2.0
// CHECK-NEXT:      %[[ZERO:.*]] = stablehlo.constant dense<0.0
// CHECK-NEXT:      %[[ZERO1:.*]] = stablehlo.constant dense<0.0
// CHECK-NEXT:      mpmd.return %[[ONE]], %[[TWICE]], %[[TWO1]], %[[ZERO]], %[[ZERO1]]
// CHECK:         %[[B:.*]]:5 = mpmd.fragment<mesh="b", origin=[]> (%arg1) {mpmd.keeps_scalars}
// CHECK-NEXT:      %[[TWO:.*]] = stablehlo.constant dense<2.0
// CHECK-NEXT:      %[[BY:.*]] = stablehlo.broadcast_in_dim %[[TWO]]
// CHECK-NEXT:      %[[TWICE:.*]] = stablehlo.multiply %{{.*}}, %[[BY]]
// CHECK-NEXT:      %[[ONE:.*]] = stablehlo.constant dense<1.0
// CHECK-NEXT:      %[[TWO1:.*]] = stablehlo.constant dense<2.0
// CHECK-NEXT:      %[[ZERO:.*]] = stablehlo.constant dense<0.0
// CHECK-NEXT:      %[[ZERO1:.*]] = stablehlo.constant dense<0.0
// CHECK-NEXT:      mpmd.return %[[ONE]], %[[TWICE]], %[[TWO1]], %[[ZERO]], %[[ZERO1]]
// CHECK:         return %[[A]]#1, %[[A]]#0, %[[B]]#0, %[[B]]#1, %[[B]]#2, %[[B]]#3, %[[B]]#4
func.func @constants(%x: !a, %y: !b) -> (!a, !sa, !sb, !b, !sb, !sb, !sb) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: !l) {
    %one = stablehlo.constant dense<1.0> : !s
    %two = stablehlo.constant dense<2.0> : !s
    %by = stablehlo.broadcast_in_dim %two, dims = [] : (!s) -> !l
    %w = stablehlo.multiply %p, %by : !l
    mpmd.return %w, %one : !l, !s
  } : (!a) -> (!a, !sa)
  %1:5 = mpmd.fragment<mesh="b", origin=[]> (%y) (%p: !l) {
    %two = stablehlo.constant dense<2.0> : !s
    %zero = stablehlo.constant dense<0.0> : !s
    %one = stablehlo.constant dense<1.0> : !s
    %by = stablehlo.broadcast_in_dim %two, dims = [] : (!s) -> !l
    %w = stablehlo.multiply %p, %by : !l
    mpmd.return %one, %w, %two, %zero, %zero : !s, !l, !s, !s, !s
  } : (!b) -> (!sb, !b, !sb, !sb, !sb)
  return %0#0, %0#1, %1#0, %1#1, %1#2, %1#3, %1#4 : !a, !sa, !sb, !b, !sb, !sb, !sb
}

// Many constants, such as one for each microbatch, would cost the other mesh time.

// CHECK-LABEL: func @many_constants
// CHECK-NOT:     keeps_scalars
// CHECK:         return
func.func @many_constants(%x: !a, %y: !b) -> (!a, !b, !sb, !sb, !sb, !sb, !sb, !sb, !sb, !sb, !sb) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: !l) {
    %w = stablehlo.sine %p : !l
    mpmd.return %w : !l
  } : (!a) -> !a
  %1:10 = mpmd.fragment<mesh="b", origin=[]> (%y) (%p: !l) {
    %w = stablehlo.sine %p : !l
    %c0 = stablehlo.constant dense<0.0> : !s
    %c1 = stablehlo.constant dense<1.0> : !s
    %c2 = stablehlo.constant dense<2.0> : !s
    %c3 = stablehlo.constant dense<3.0> : !s
    %c4 = stablehlo.constant dense<4.0> : !s
    %c5 = stablehlo.constant dense<5.0> : !s
    %c6 = stablehlo.constant dense<6.0> : !s
    %c7 = stablehlo.constant dense<7.0> : !s
    %c8 = stablehlo.constant dense<8.0> : !s
    mpmd.return %w, %c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7, %c8 : !l, !s, !s, !s, !s, !s, !s, !s, !s, !s
  } : (!b) -> (!b, !sb, !sb, !sb, !sb, !sb, !sb, !sb, !sb, !sb)
  return %0, %1#0, %1#1, %1#2, %1#3, %1#4, %1#5, %1#6, %1#7, %1#8, %1#9 : !a, !b, !sb, !sb, !sb, !sb, !sb, !sb, !sb, !sb, !sb
}

// What nothing reads goes, and becomes no fragment without results.

// CHECK-LABEL: func @unread_scalar
// CHECK:         mpmd.fragment<mesh="a", origin=[]> (%arg0) {mpmd.keeps_scalars}
// CHECK-NOT:     mpmd.fragment
// CHECK:         mpmd.fragment<mesh="b", origin=[]> (%arg1) {mpmd.keeps_scalars}
// CHECK-NEXT:      stablehlo.sine
// CHECK-NEXT:      mpmd.return
// CHECK-NOT:     mpmd.fragment
// CHECK:         return
func.func @unread_scalar(%x: !a, %y: !b, %n: !sb) -> (!a, !b) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: !l) {
    %s = stablehlo.sine %p : !l
    mpmd.return %s : !l
  } : (!a) -> !a
  %1 = mpmd.fragment<mesh="b", origin=[]> (%y, %n) (%p: !l, %q: !s) {
    %d = stablehlo.negate %q : !s
    %s = stablehlo.sine %p : !l
    mpmd.return %s : !l
  } : (!b, !sb) -> !b
  return %0, %1 : !a, !b
}

// A shared body that each mesh calls once is one that both compute once.

// CHECK-LABEL: func @shared_bodies
// CHECK:         %{{.*}}:2 = mpmd.fragment<mesh="a", origin=[]> (%arg0) {mpmd.keeps_scalars}
// CHECK-NEXT:      stablehlo.sine
// CHECK-NEXT:      stablehlo.cosine
// CHECK:         %[[B:.*]]:2 = mpmd.fragment<mesh="b", origin=[]> (%arg1) {mpmd.keeps_scalars}
// CHECK-NEXT:      stablehlo.sine
// CHECK-NEXT:      stablehlo.cosine
// CHECK:         return %{{.*}}, %{{.*}}, %[[B]]#1, %[[B]]#0
func.func @shared_bodies(%x: !a, %y: !b) -> (!a, !a, !b, !b) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: !l) {
    %r:2 = stablehlo.custom_call @mpmd.shared_body(%p) {called_computations = [@body]} : (!l) -> (!l, !l)
    mpmd.return %r#0, %r#1 : !l, !l
  } : (!a) -> (!a, !a)
  %1:2 = mpmd.fragment<mesh="b", origin=[]> (%y) (%p: !l) {
    %r:2 = stablehlo.custom_call @mpmd.shared_body(%p) {called_computations = [@body]} : (!l) -> (!l, !l)
    mpmd.return %r#1, %r#0 : !l, !l
  } : (!b) -> (!b, !b)
  return %0#0, %0#1, %1#0, %1#1 : !a, !a, !b, !b
}
func.func private @body(%p: !l) -> (!l, !l) attributes {mpmd.shared_body} {
  %s = stablehlo.sine %p : !l
  %c = stablehlo.cosine %p : !l
  return %s, %c : !l, !l
}

// An array that only one returns would take memory on the other for nothing.

// CHECK-LABEL: func @array_of_one
// CHECK-NOT:     keeps_scalars
// CHECK:         return
func.func @array_of_one(%x: !a, %y: !b) -> (!a, !a, !b) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: !l) {
    %s = stablehlo.sine %p : !l
    %c = stablehlo.cosine %s : !l
    mpmd.return %s, %c : !l, !l
  } : (!a) -> (!a, !a)
  %1 = mpmd.fragment<mesh="b", origin=[]> (%y) (%p: !l) {
    %s = stablehlo.sine %p : !l
    %c = stablehlo.cosine %s : !l
    mpmd.return %c : !l
  } : (!b) -> !b
  return %0#0, %0#1, %1 : !a, !a, !b
}

// Nor do meshes of other sizes, other operations, or user fragments become alike.

// CHECK-LABEL: func @other_mesh
// CHECK-NOT:     keeps_scalars
// CHECK:         return
func.func @other_mesh(%x: !a, %y: !b) -> (!a, !a, !b, !b) attributes {topology = #uneven} {
  %0:2 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: !l) {
    %s = stablehlo.sine %p : !l
    %c = stablehlo.cosine %p : !l
    mpmd.return %s, %c : !l, !l
  } : (!a) -> (!a, !a)
  %1:2 = mpmd.fragment<mesh="b", origin=[]> (%y) (%p: !l) {
    %s = stablehlo.sine %p : !l
    %c = stablehlo.cosine %p : !l
    mpmd.return %c, %s : !l, !l
  } : (!b) -> (!b, !b)
  return %0#0, %0#1, %1#0, %1#1 : !a, !a, !b, !b
}

// CHECK-LABEL: func @other_operation
// CHECK-NOT:     keeps_scalars
// CHECK:         return
func.func @other_operation(%x: !a, %y: !b, %l: !sb) -> (!a, !b, !sb) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: !l) {
    %s = stablehlo.sine %p : !l
    mpmd.return %s : !l
  } : (!a) -> !a
  // What is computed with scalars stays where nothing is gained.
  // CHECK: mpmd.fragment<mesh="b", origin=[]> (%arg1, %arg2)
  // CHECK-NOT: mpmd.fragment
  %1:2 = mpmd.fragment<mesh="b", origin=[]> (%y, %l) (%p: !l, %q: !s) {
    %c = stablehlo.cosine %p : !l
    %d = stablehlo.negate %q : !s
    mpmd.return %c, %d : !l, !s
  } : (!b, !sb) -> (!b, !sb)
  return %0, %1#0, %1#1 : !a, !b, !sb
}

// CHECK-LABEL: func @user_fragments
// CHECK-NOT:     keeps_scalars
// CHECK:         return
func.func @user_fragments(%x: !a, %y: !b) -> (!a, !a, !b, !b) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="a", origin=["f"]> (%x) (%p: !l) {
    %s = stablehlo.sine %p : !l
    %c = stablehlo.cosine %p : !l
    mpmd.return %s, %c : !l, !l
  } : (!a) -> (!a, !a)
  %1:2 = mpmd.fragment<mesh="b", origin=["g"]> (%y) (%p: !l) {
    %s = stablehlo.sine %p : !l
    %c = stablehlo.cosine %p : !l
    mpmd.return %c, %s : !l, !l
  } : (!b) -> (!b, !b)
  return %0#0, %0#1, %1#0, %1#1 : !a, !a, !b, !b
}

// A sum that is part of what is computed with arrays is none of scalars alone, and what has
// effects stays where it is.

// CHECK-LABEL: func @not_apart
// CHECK:         mpmd.fragment<mesh="b", origin=[]> (%arg1, %arg2, %arg3)
// CHECK-NOT:     mpmd.fragment
// CHECK:         return
func.func @not_apart(%x: !a, %y: !b, %l: !sb, %m: !sb) -> (!a, !b, !sb, !sb) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: !l) {
    %s = stablehlo.sine %p : !l
    mpmd.return %s : !l
  } : (!a) -> !a
  %1:3 = mpmd.fragment<mesh="b", origin=[]> (%y, %l, %m) (%p: !l, %q: !s, %r: !s) {
    %s = stablehlo.sine %p : !l
    %first = stablehlo.slice %s [0:1] : (!l) -> tensor<1xf32>
    %scalar = stablehlo.reshape %first : (tensor<1xf32>) -> !s
    %sum = stablehlo.add %scalar, %q : !s
    %answer = stablehlo.custom_call @tell(%r) {has_side_effect = true} : (!s) -> !s
    mpmd.return %s, %sum, %answer : !l, !s, !s
  } : (!b, !sb, !sb) -> (!b, !sb, !sb)
  return %0, %1#0, %1#1, %1#2 : !a, !b, !sb, !sb
}
