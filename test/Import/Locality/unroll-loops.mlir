// RUN: mpmd-opt %s -mpmd-unroll-loops | FileCheck %s
// RUN: mpmd-opt %s -mpmd-unroll-loops=max-trips=1 | FileCheck %s --check-prefix=FEW

!w = tensor<8x8xf32>
!w1 = !mpmd.mesh_tensor<"m1", !w>
!w2 = !mpmd.mesh_tensor<"m2", !w>
!s = tensor<f32>
!i = tensor<i32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// Only a number goes from the one to the other.

// CHECK-LABEL: func @leaf_by_leaf
// FEW-LABEL: func @leaf_by_leaf
func.func @leaf_by_leaf(%p: !w1, %q: !w2) -> (!w, !w) attributes {topology = #topology} {
  // CHECK-NOT: stablehlo.while
  // CHECK: stablehlo.dot_general
  // CHECK: %[[X:.*]] = stablehlo.multiply
  // CHECK: %[[Y:.*]] = stablehlo.multiply
  // CHECK: stablehlo.dot_general %[[X]], %[[X]]
  // CHECK: %[[LAST:.*]] = stablehlo.multiply %[[X]]
  // CHECK: return %[[LAST]]
  // FEW: stablehlo.while
  %a = mpmd.unassign %p : (!w1) -> !w
  %b = mpmd.unassign %q : (!w2) -> !w
  %zero = stablehlo.constant dense<0> : !i
  %one = stablehlo.constant dense<1> : !i
  %two = stablehlo.constant dense<2> : !i
  %out:3 = stablehlo.while(%n = %zero, %x = %a, %y = %b) : !i, !w, !w
  cond {
    %more = stablehlo.compare LT, %n, %two : (!i, !i) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %norm = stablehlo.dot_general %x, %x, contracting_dims = [0, 1] x [0, 1] : (!w, !w) -> !s
    %all = stablehlo.broadcast_in_dim %norm, dims = [] : (!s) -> !w
    %x2 = stablehlo.multiply %x, %all : !w
    %y2 = stablehlo.multiply %y, %all : !w
    %n2 = stablehlo.add %n, %one : !i
    stablehlo.return %n2, %x2, %y2 : !i, !w, !w
  }
  return %out#1, %out#2 : !w, !w
}

// A constant that both are scaled by, and what is made of a number, are no link.

// CHECK-LABEL: func @scaled_alike
func.func @scaled_alike(%p: !w1, %q: !w2, %rate: !s) -> (!w, !w) attributes {topology = #topology} {
  // CHECK-NOT: stablehlo.while
  // CHECK: return
  %a = mpmd.unassign %p : (!w1) -> !w
  %b = mpmd.unassign %q : (!w2) -> !w
  %zero = stablehlo.constant dense<0> : !i
  %one = stablehlo.constant dense<1> : !i
  %two = stablehlo.constant dense<2> : !i
  %tenth = stablehlo.constant dense<0.1> : !w
  %rates = stablehlo.broadcast_in_dim %rate, dims = [] : (!s) -> !w
  %scale = stablehlo.multiply %tenth, %rates : !w
  %out:3 = stablehlo.while(%n = %zero, %x = %a, %y = %b) : !i, !w, !w
  cond {
    %more = stablehlo.compare LT, %n, %two : (!i, !i) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %x2 = stablehlo.multiply %x, %scale : !w
    %y2 = stablehlo.multiply %y, %scale : !w
    %n2 = stablehlo.add %n, %one : !i
    stablehlo.return %n2, %x2, %y2 : !i, !w, !w
  }
  return %out#1, %out#2 : !w, !w
}

// Each trip would send a whole value, where the loop sends one once.

// CHECK-LABEL: func @values_meet
func.func @values_meet(%p: !w1, %q: !w2) -> !w attributes {topology = #topology} {
  // CHECK: stablehlo.while
  %a = mpmd.unassign %p : (!w1) -> !w
  %b = mpmd.unassign %q : (!w2) -> !w
  %zero = stablehlo.constant dense<0> : !i
  %one = stablehlo.constant dense<1> : !i
  %two = stablehlo.constant dense<2> : !i
  %out:3 = stablehlo.while(%n = %zero, %x = %a, %y = %b) : !i, !w, !w
  cond {
    %more = stablehlo.compare LT, %n, %two : (!i, !i) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %x2 = stablehlo.multiply %x, %y : !w
    %n2 = stablehlo.add %n, %one : !i
    stablehlo.return %n2, %x2, %y : !i, !w, !w
  }
  return %out#1 : !w
}

// How often this loop turns is not known.

// CHECK-LABEL: func @unknown_trips
func.func @unknown_trips(%p: !w1, %q: !w2, %limit: !i) -> (!w, !w) attributes {topology = #topology} {
  // CHECK: stablehlo.while
  %a = mpmd.unassign %p : (!w1) -> !w
  %b = mpmd.unassign %q : (!w2) -> !w
  %zero = stablehlo.constant dense<0> : !i
  %one = stablehlo.constant dense<1> : !i
  %out:3 = stablehlo.while(%n = %zero, %x = %a, %y = %b) : !i, !w, !w
  cond {
    %more = stablehlo.compare LT, %n, %limit : (!i, !i) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %x2 = stablehlo.multiply %x, %x : !w
    %y2 = stablehlo.multiply %y, %y : !w
    %n2 = stablehlo.add %n, %one : !i
    stablehlo.return %n2, %x2, %y2 : !i, !w, !w
  }
  return %out#1, %out#2 : !w, !w
}

// Its counter does not go up by one each time.

// CHECK-LABEL: func @no_counter
func.func @no_counter(%p: !w1, %q: !w2, %by: !i) -> (!w, !w) attributes {topology = #topology} {
  // CHECK: stablehlo.while
  %a = mpmd.unassign %p : (!w1) -> !w
  %b = mpmd.unassign %q : (!w2) -> !w
  %zero = stablehlo.constant dense<0> : !i
  %one = stablehlo.constant dense<1> : !i
  %two = stablehlo.constant dense<2> : !i
  %out:3 = stablehlo.while(%n = %zero, %x = %a, %y = %b) : !i, !w, !w
  cond {
    %more = stablehlo.compare LT, %n, %two : (!i, !i) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %x2 = stablehlo.multiply %x, %x : !w
    %y2 = stablehlo.multiply %y, %y : !w
    %half = stablehlo.multiply %n, %by : !i
    %n2 = stablehlo.add %one, %half : !i
    stablehlo.return %n2, %x2, %y2 : !i, !w, !w
  }
  return %out#1, %out#2 : !w, !w
}

// In a branch, as of an update that is skipped where a gradient is not finite.

// CHECK-LABEL: func @in_a_branch
func.func @in_a_branch(%ok: tensor<i1>, %p: !w1, %q: !w2) -> (!w, !w) attributes {topology = #topology} {
  // CHECK: "stablehlo.if"
  // CHECK-NOT: stablehlo.while
  // CHECK: stablehlo.dot_general
  // CHECK: stablehlo.dot_general
  // CHECK: stablehlo.return
  %a = mpmd.unassign %p : (!w1) -> !w
  %b = mpmd.unassign %q : (!w2) -> !w
  %zero = stablehlo.constant dense<0> : !i
  %one = stablehlo.constant dense<1> : !i
  %two = stablehlo.constant dense<2> : !i
  %r:2 = "stablehlo.if"(%ok) ({
    %c = stablehlo.negate %b : !w
    %out:3 = stablehlo.while(%n = %zero, %x = %a, %y = %c) : !i, !w, !w
    cond {
      %more = stablehlo.compare LT, %n, %two : (!i, !i) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %norm = stablehlo.dot_general %x, %x, contracting_dims = [0, 1] x [0, 1] : (!w, !w) -> !s
      %all = stablehlo.broadcast_in_dim %norm, dims = [] : (!s) -> !w
      %x2 = stablehlo.multiply %x, %all : !w
      %y2 = stablehlo.multiply %y, %all : !w
      %n2 = stablehlo.add %n, %one : !i
      stablehlo.return %n2, %x2, %y2 : !i, !w, !w
    }
    stablehlo.return %out#1, %out#2 : !w, !w
  }, {
    stablehlo.return %a, %b : !w, !w
  }) : (tensor<i1>) -> (!w, !w)
  return %r#0, %r#1 : !w, !w
}

// On one mesh it stays.

// CHECK-LABEL: func @in_a_branch_on_one_mesh
func.func @in_a_branch_on_one_mesh(%ok: tensor<i1>, %p: !w1, %q: !w2) -> (!w, !w) attributes {topology = #topology} {
  // CHECK: stablehlo.while
  %a = mpmd.unassign %p : (!w1) -> !w
  %b = mpmd.unassign %q : (!w2) -> !w
  %zero = stablehlo.constant dense<0> : !i
  %one = stablehlo.constant dense<1> : !i
  %two = stablehlo.constant dense<2> : !i
  %r:2 = "stablehlo.if"(%ok) ({
    %out:2 = stablehlo.while(%n = %zero, %x = %a) : !i, !w
    cond {
      %more = stablehlo.compare LT, %n, %two : (!i, !i) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %x2 = stablehlo.multiply %x, %x : !w
      %n2 = stablehlo.add %n, %one : !i
      stablehlo.return %n2, %x2 : !i, !w
    }
    stablehlo.return %out#1, %b : !w, !w
  }, {
    stablehlo.return %a, %b : !w, !w
  }) : (tensor<i1>) -> (!w, !w)
  return %r#0, %r#1 : !w, !w
}
