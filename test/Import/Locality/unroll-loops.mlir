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

// What is made of a number on "m2" and of what can be anywhere goes on with "m1".

// CHECK-LABEL: func @scaled_before
func.func @scaled_before(%p: !w1, %q: !w2, %m: !w, %number: !mpmd.mesh_tensor<"m2", !s>) -> (!w, !w) attributes {topology = #topology} {
  // CHECK-NOT: stablehlo.while
  // CHECK: return
  %a = mpmd.unassign %p : (!w1) -> !w
  %b = mpmd.unassign %q : (!w2) -> !w
  %r = mpmd.unassign %number : (!mpmd.mesh_tensor<"m2", !s>) -> !s
  %zero = stablehlo.constant dense<0> : !i
  %one = stablehlo.constant dense<1> : !i
  %two = stablehlo.constant dense<2> : !i
  %rates = stablehlo.broadcast_in_dim %r, dims = [] : (!s) -> !w
  %scaled = stablehlo.multiply %m, %rates : !w
  %out:3 = stablehlo.while(%n = %zero, %x = %scaled, %y = %b) : !i, !w, !w
  cond {
    %more = stablehlo.compare LT, %n, %two : (!i, !i) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %x2 = stablehlo.add %x, %a : !w
    %y2 = stablehlo.add %y, %b : !w
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

// Each of many steps from a constant is looked at once, though each reads the last twice.

// CHECK-LABEL: func @scaled_by_a_power
func.func @scaled_by_a_power(%p: !w1, %q: !w2) -> (!w, !w) attributes {topology = #topology} {
  // CHECK-NOT: stablehlo.while
  // CHECK: return
  %a = mpmd.unassign %p : (!w1) -> !w
  %b = mpmd.unassign %q : (!w2) -> !w
  %zero = stablehlo.constant dense<0> : !i
  %one = stablehlo.constant dense<1> : !i
  %two = stablehlo.constant dense<2> : !i
  %tenth = stablehlo.constant dense<0.1> : !w
  %d0 = stablehlo.add %tenth, %tenth : !w
  %d1 = stablehlo.add %d0, %d0 : !w
  %d2 = stablehlo.add %d1, %d1 : !w
  %d3 = stablehlo.add %d2, %d2 : !w
  %d4 = stablehlo.add %d3, %d3 : !w
  %d5 = stablehlo.add %d4, %d4 : !w
  %d6 = stablehlo.add %d5, %d5 : !w
  %d7 = stablehlo.add %d6, %d6 : !w
  %d8 = stablehlo.add %d7, %d7 : !w
  %d9 = stablehlo.add %d8, %d8 : !w
  %d10 = stablehlo.add %d9, %d9 : !w
  %d11 = stablehlo.add %d10, %d10 : !w
  %d12 = stablehlo.add %d11, %d11 : !w
  %d13 = stablehlo.add %d12, %d12 : !w
  %d14 = stablehlo.add %d13, %d13 : !w
  %d15 = stablehlo.add %d14, %d14 : !w
  %d16 = stablehlo.add %d15, %d15 : !w
  %d17 = stablehlo.add %d16, %d16 : !w
  %d18 = stablehlo.add %d17, %d17 : !w
  %d19 = stablehlo.add %d18, %d18 : !w
  %d20 = stablehlo.add %d19, %d19 : !w
  %d21 = stablehlo.add %d20, %d20 : !w
  %d22 = stablehlo.add %d21, %d21 : !w
  %d23 = stablehlo.add %d22, %d22 : !w
  %d24 = stablehlo.add %d23, %d23 : !w
  %d25 = stablehlo.add %d24, %d24 : !w
  %d26 = stablehlo.add %d25, %d25 : !w
  %d27 = stablehlo.add %d26, %d26 : !w
  %d28 = stablehlo.add %d27, %d27 : !w
  %d29 = stablehlo.add %d28, %d28 : !w
  %d30 = stablehlo.add %d29, %d29 : !w
  %d31 = stablehlo.add %d30, %d30 : !w
  %d32 = stablehlo.add %d31, %d31 : !w
  %d33 = stablehlo.add %d32, %d32 : !w
  %d34 = stablehlo.add %d33, %d33 : !w
  %d35 = stablehlo.add %d34, %d34 : !w
  %d36 = stablehlo.add %d35, %d35 : !w
  %d37 = stablehlo.add %d36, %d36 : !w
  %d38 = stablehlo.add %d37, %d37 : !w
  %d39 = stablehlo.add %d38, %d38 : !w
  %d40 = stablehlo.add %d39, %d39 : !w
  %d41 = stablehlo.add %d40, %d40 : !w
  %d42 = stablehlo.add %d41, %d41 : !w
  %d43 = stablehlo.add %d42, %d42 : !w
  %d44 = stablehlo.add %d43, %d43 : !w
  %d45 = stablehlo.add %d44, %d44 : !w
  %d46 = stablehlo.add %d45, %d45 : !w
  %d47 = stablehlo.add %d46, %d46 : !w
  %out:3 = stablehlo.while(%n = %zero, %x = %a, %y = %b) : !i, !w, !w
  cond {
    %more = stablehlo.compare LT, %n, %two : (!i, !i) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %x2 = stablehlo.multiply %x, %d47 : !w
    %y2 = stablehlo.multiply %y, %d47 : !w
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
