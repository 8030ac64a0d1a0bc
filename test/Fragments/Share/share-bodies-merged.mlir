// RUN: mpmd-opt %s --mpmd-share-bodies=min-ops=1 | FileCheck %s

// What merging has added to a shared body becomes a part of one; the fragment
// that nothing equals gets its ops back, and what nothing calls goes.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @main
// CHECK: mpmd.fragment
// CHECK-NEXT: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@shared_body]}
// CHECK-NEXT: mpmd.return
// CHECK: mpmd.fragment
// CHECK-NEXT: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@shared_body]}
// CHECK-NEXT: mpmd.return
// CHECK: mpmd.fragment
// CHECK-NEXT: %[[S:.*]] = stablehlo.sine
// CHECK-NEXT: stablehlo.multiply %[[S]], %[[S]]
// CHECK-NOT: @body
// CHECK: func private @shared_body(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[S2:.*]] = stablehlo.sine %[[A]]
// CHECK-NEXT: %[[R:.*]] = stablehlo.add %[[B]], %[[S2]]
// CHECK-NEXT: return %[[R]]
// CHECK-NOT: func
func.func @main(%arg0: !m, %arg1: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
    %r = stablehlo.add %b, %s : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m, !m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %0) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
    %r = stablehlo.add %b, %s : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m, !m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["f"]> (%1) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
    %r = stablehlo.multiply %s, %s : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m) -> !m
  return %2 : !m
}
func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %s = stablehlo.sine %a : tensor<4xf32>
  return %s : tensor<4xf32>
}
