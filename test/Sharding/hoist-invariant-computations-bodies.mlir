// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations | FileCheck %s
// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations=limit=31 | FileCheck %s --check-prefix=BOUND --implicit-check-not=hoisted

// Loops and branches that no microbatch changes.

!w = !mpmd.mesh_tensor<"m", tensor<8xf32>>
!i = !mpmd.mesh_tensor<"m", tensor<i32>>

// A loop over a weight, with what its body reads around it; microbatches read
// either of its results. One more byte than is allowed, and it stays.
// CHECK-LABEL: func @loop_over_weight
// BOUND-LABEL: func @loop_over_weight
// BOUND-COUNT-2: stablehlo.while
func.func @loop_over_weight(%w: !w, %v: !w, %x: !w, %y: !w) -> (!w, !w) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: %[[H:.*]] = mpmd.fragment<mesh="m", origin=["hoisted"]> (%arg1, %arg0) (%[[V:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8xf32>) {
  // CHECK: %[[E:.*]] = stablehlo.exponential %[[V]]
  // CHECK: %[[LOOP:.*]]:2 = stablehlo.while(%[[A:.*]] = %[[W]], %{{.*}} = %{{.*}})
  // CHECK: stablehlo.multiply %[[A]], %[[E]]
  // CHECK: mpmd.return %[[LOOP]]#0 : tensor<8xf32>
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> ({{.*}}, %[[H]])
  // CHECK-SAME: %[[IN_F:arg[0-9]+]]: tensor<8xf32>) {
  // CHECK-NEXT: stablehlo.add %{{.*}}, %[[IN_F]]
  // CHECK-NEXT: mpmd.return
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> ({{.*}}, %[[H]])
  // CHECK-NOT: stablehlo.while
  // CHECK: return
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %v, %x) (%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %e = stablehlo.exponential %b : tensor<8xf32>
    %l:2 = stablehlo.while(%p = %a, %k = %i) : tensor<8xf32>, tensor<i32>
     cond {
      %q = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %q = stablehlo.multiply %p, %e : tensor<8xf32>
      %r = stablehlo.add %k, %k : tensor<i32>
      stablehlo.return %q, %r : tensor<8xf32>, tensor<i32>
    }
    %s = stablehlo.add %c, %l#0 : tensor<8xf32>
    mpmd.return %s : tensor<8xf32>
  } : (!w, !w, !w) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %v, %y) (%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %e = stablehlo.exponential %b : tensor<8xf32>
    %l:2 = stablehlo.while(%p = %a, %k = %i) : tensor<8xf32>, tensor<i32>
     cond {
      %q = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %q = stablehlo.multiply %p, %e : tensor<8xf32>
      %r = stablehlo.add %k, %k : tensor<i32>
      stablehlo.return %q, %r : tensor<8xf32>, tensor<i32>
    }
    %s = stablehlo.add %c, %l#0 : tensor<8xf32>
    mpmd.return %s : tensor<8xf32>
  } : (!w, !w, !w) -> !w
  return %0, %1 : !w, !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<8xf32>>
!i = !mpmd.mesh_tensor<"m", tensor<i32>>

// A branch by an input of the program; one that reads another value around it is
// another one.
// CHECK-LABEL: func @branch_by_input
// BOUND-LABEL: func @branch_by_input
func.func @branch_by_input(%w: !w, %v: !w, %i: !i) -> (!w, !w, !w) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: %[[H:.*]] = mpmd.fragment<mesh="m", origin=["hoisted"]>
  // CHECK: %[[CASE:.*]] = "stablehlo.case"
  // CHECK: mpmd.return %[[CASE]] : tensor<8xf32>
  // CHECK: origin=["f"]> ({{.*}}, %[[H]])
  // CHECK-NOT: stablehlo.case
  // CHECK: origin=["f"]> ({{.*}}, %[[H]])
  // CHECK-NOT: stablehlo.case
  // CHECK: origin=["other"]>
  // CHECK: stablehlo.case
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %i) (%a: tensor<8xf32>, %k: tensor<i32>) {
    %c = "stablehlo.case"(%k) ({
      %t = stablehlo.tanh %a : tensor<8xf32>
      stablehlo.return %t : tensor<8xf32>
    }, {
      stablehlo.return %a : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    %s = "stablehlo.custom_call"(%c) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    mpmd.return %s : tensor<8xf32>
  } : (!w, !i) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %i) (%a: tensor<8xf32>, %k: tensor<i32>) {
    %c = "stablehlo.case"(%k) ({
      %t = stablehlo.tanh %a : tensor<8xf32>
      stablehlo.return %t : tensor<8xf32>
    }, {
      stablehlo.return %a : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    %s = "stablehlo.custom_call"(%c) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    mpmd.return %s : tensor<8xf32>
  } : (!w, !i) -> !w
  %2 = mpmd.fragment<mesh="m", origin=["other"]> (%v, %i) (%a: tensor<8xf32>, %k: tensor<i32>) {
    %c = "stablehlo.case"(%k) ({
      %t = stablehlo.tanh %a : tensor<8xf32>
      stablehlo.return %t : tensor<8xf32>
    }, {
      stablehlo.return %a : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    %s = "stablehlo.custom_call"(%c) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    mpmd.return %s : tensor<8xf32>
  } : (!w, !i) -> !w
  return %0, %1, %2 : !w, !w, !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<8xf32>>

sdy.mesh @g = <["d"=2]>

// A loop over rows of a microbatch stays, but the weight that it reads around
// it, and that devices would gather in every step, is whole before.
// CHECK-LABEL: func @loop_over_microbatch
// BOUND-LABEL: func @loop_over_microbatch
func.func @loop_over_microbatch(%w: !w, %x: !w, %y: !w) -> (!w, !w) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: %[[H:.*]] = mpmd.fragment<mesh="m", origin=["hoisted"]>
  // CHECK-NEXT: stablehlo.exponential
  // CHECK-NEXT: mpmd.return
  // CHECK: origin=["f"]> (%arg0, %arg1, %[[H]])
  // CHECK-SAME: %[[IN:arg[0-9]+]]: tensor<8xf32>) {
  // CHECK-NEXT: stablehlo.while
  // CHECK: stablehlo.multiply %{{.*}}, %[[IN]]
  // CHECK: origin=["f"]> (%arg0, %arg2, %[[H]])
  // CHECK: stablehlo.while
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %x) (%a: tensor<8xf32>, %b: tensor<8xf32>) {
    %e = stablehlo.exponential %a : tensor<8xf32>
    %l = stablehlo.while(%p = %b) : tensor<8xf32>
     cond {
      %q = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %q = stablehlo.multiply %p, %e : tensor<8xf32>
      stablehlo.return %q : tensor<8xf32>
    }
    mpmd.return %l : tensor<8xf32>
  } : (!w, !w) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %y) (%a: tensor<8xf32>, %b: tensor<8xf32>) {
    %e = stablehlo.exponential %a : tensor<8xf32>
    %l = stablehlo.while(%p = %b) : tensor<8xf32>
     cond {
      %q = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %q = stablehlo.multiply %p, %e : tensor<8xf32>
      stablehlo.return %q : tensor<8xf32>
    }
    mpmd.return %l : tensor<8xf32>
  } : (!w, !w) -> !w
  return %0, %1 : !w, !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<8xf32>>
!s = !mpmd.mesh_tensor<"m", tensor<f32>>

// What draws, or calls what is not known, in a loop has its place in each
// microbatch.
// CHECK-LABEL: func @leaves_effects_in_loops_alone
// CHECK-NOT: hoisted
// CHECK-COUNT-4: stablehlo.while
// BOUND-LABEL: func @leaves_effects_in_loops_alone
func.func @leaves_effects_in_loops_alone(%w: !w, %m: !s) -> (!w, !w, !w, !w) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %m) (%a: tensor<8xf32>, %b: tensor<f32>) {
    %n = stablehlo.constant dense<8> : tensor<1xi64>
    %l = stablehlo.while(%p = %a) : tensor<8xf32>
     cond {
      %q = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %q = stablehlo.rng %b, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
      stablehlo.return %q : tensor<8xf32>
    }
    %t = stablehlo.while(%p = %a) : tensor<8xf32>
     cond {
      %q = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %q = "stablehlo.custom_call"(%p) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %q : tensor<8xf32>
    }
    %u = "stablehlo.custom_call"(%l) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    %v = "stablehlo.custom_call"(%t) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    mpmd.return %u, %v : tensor<8xf32>, tensor<8xf32>
  } : (!w, !s) -> (!w, !w)
  %1:2 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %m) (%a: tensor<8xf32>, %b: tensor<f32>) {
    %n = stablehlo.constant dense<8> : tensor<1xi64>
    %l = stablehlo.while(%p = %a) : tensor<8xf32>
     cond {
      %q = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %q = stablehlo.rng %b, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
      stablehlo.return %q : tensor<8xf32>
    }
    %t = stablehlo.while(%p = %a) : tensor<8xf32>
     cond {
      %q = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %q = "stablehlo.custom_call"(%p) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %q : tensor<8xf32>
    }
    %u = "stablehlo.custom_call"(%l) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    %v = "stablehlo.custom_call"(%t) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    mpmd.return %u, %v : tensor<8xf32>, tensor<8xf32>
  } : (!w, !s) -> (!w, !w)
  return %0#0, %0#1, %1#0, %1#1 : !w, !w, !w, !w
}
