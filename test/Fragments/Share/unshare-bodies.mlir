// RUN: mpmd-opt %s --mpmd-unshare-bodies | FileCheck %s
// RUN: mpmd-opt %s --mpmd-unshare-bodies --mpmd-share-bodies=min-ops=1 --mpmd-unshare-bodies | FileCheck %s

// Ops come back in the places of the calls, also between others.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @main
// CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%[[A:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[N:.*]] = stablehlo.negate %[[A]]
// CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[N]]
// CHECK-NEXT: %[[C:.*]] = stablehlo.add %[[S]], %[[N]]
// CHECK-NEXT: %[[E:.*]] = stablehlo.exponential %[[C]]
// CHECK-NEXT: mpmd.return %[[E]], %[[A]]
// CHECK: mpmd.fragment<mesh="m", origin=["g"]> (%{{.*}}) (%[[B:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[S2:.*]] = stablehlo.sine %[[B]]
// CHECK-NEXT: %[[C2:.*]] = stablehlo.add %[[S2]], %[[B]]
// CHECK-NEXT: mpmd.return %[[C2]]
// CHECK-NOT: shared_body
func.func @main(%arg0: !m) -> (!m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %n = stablehlo.negate %a : tensor<4xf32>
    %s = stablehlo.custom_call @mpmd.shared_body(%n) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
    %e = stablehlo.exponential %s : tensor<4xf32>
    mpmd.return %e, %a : tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m)
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0#0) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  return %1, %0#1 : !m, !m
}
func.func private @shared_body(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %s = stablehlo.sine %a : tensor<4xf32>
  %c = stablehlo.add %s, %a : tensor<4xf32>
  return %c : tensor<4xf32>
}
