// RUN: mpmd-opt %s --mpmd-sink-argument-constraints | FileCheck %s

// Constraints that all fragments have become ops of their body, in the order in which
// they are in the fragment. The fragment that has another, and the one that returns
// what it constrains, get their ops back.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @main
// CHECK-COUNT-2: custom_call @mpmd.shared_body(%arg{{[0-9]+}}, %arg{{[0-9]+}}) {called_computations = [@body]
// CHECK: origin=["other"]
// CHECK-NEXT: %[[O:.*]] = sdy.sharding_constraint %{{.*}} <@mesh, [{}]>
// CHECK-NEXT: stablehlo.add %[[O]],
// CHECK: origin=["returned"]
// CHECK-NEXT: %[[A:.*]] = sdy.sharding_constraint
// CHECK-NEXT: %[[B:.*]] = sdy.sharding_constraint
// CHECK-NEXT: stablehlo.add %[[B]], %[[A]]
// CHECK: func private @body(%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[C:.*]] = sdy.sharding_constraint %[[Y]] <@mesh, [{"x"}]>
// CHECK-NEXT: %[[D:.*]] = sdy.sharding_constraint %[[X]] <@mesh, [{"x"}]>
// CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[D]], %[[C]]
// CHECK-NEXT: return %[[S]]
func.func @main(%arg0: !m, %arg1: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %c = sdy.sharding_constraint %b <@mesh, [{"x"}]> : tensor<4xf32>
    %d = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
    %s = stablehlo.custom_call @mpmd.shared_body(%d, %c) {called_computations = [@body]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m, !m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0, %arg1) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %c = sdy.sharding_constraint %b <@mesh, [{"x"}]> : tensor<4xf32>
    %d = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
    %s = stablehlo.custom_call @mpmd.shared_body(%d, %c) {called_computations = [@body]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m, !m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["other"]> (%1, %arg1) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %c = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<4xf32>
    %s = stablehlo.custom_call @mpmd.shared_body(%c, %b) {called_computations = [@body]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m, !m) -> !m
  %3:2 = mpmd.fragment<mesh="m", origin=["returned"]> (%2, %arg1) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %c = sdy.sharding_constraint %b <@mesh, [{"x"}]> : tensor<4xf32>
    %d = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
    %s = stablehlo.custom_call @mpmd.shared_body(%d, %c) {called_computations = [@body]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s, %c : tensor<4xf32>, tensor<4xf32>
  } : (!m, !m) -> (!m, !m)
  return %3#0, %3#1 : !m, !m
}
func.func private @body(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %s = stablehlo.add %a, %b : tensor<4xf32>
  return %s : tensor<4xf32>
}

// One that nothing reads stays.
// CHECK-LABEL: func @unread
// CHECK:         mpmd.fragment
// CHECK-NEXT:      sdy.sharding_constraint %{{.*}} <@mesh, [{}]>
// CHECK-NEXT:      stablehlo.custom_call
// CHECK:       func private @negate
// CHECK-NEXT:    sdy.sharding_constraint %{{.*}} <@mesh, [{"x"}]>
func.func @unread(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %u = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<4xf32>
    %c = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
    %s = stablehlo.custom_call @mpmd.shared_body(%c) {called_computations = [@negate]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
func.func private @negate(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %s = stablehlo.negate %a : tensor<4xf32>
  return %s : tensor<4xf32>
}
