// RUN: mpmd-opt %s --sdy-add-data-flow-edges | FileCheck %s

// What is nothing but a frame around a shared body gets no edge ops; what has other
// ops does.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @main
// CHECK: mpmd.fragment
// CHECK-NEXT: custom_call @mpmd.shared_body(%arg1)
// CHECK-NEXT: mpmd.return
// CHECK-NEXT: } :
// CHECK-NEXT: mpmd.fragment
// CHECK-NEXT: %[[E:.*]] = sdy.data_flow_edge %arg1
// CHECK-NEXT: custom_call @mpmd.shared_body(%[[E]])
// CHECK-NEXT: stablehlo.negate
// CHECK-NEXT: mpmd.return
// CHECK-NEXT: } :
// CHECK-NEXT: sdy.data_flow_edge
// CHECK-NEXT: return
func.func @main(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
    %t = stablehlo.negate %s : tensor<4xf32>
    mpmd.return %t : tensor<4xf32>
  } : (!m) -> !m
  return %1 : !m
}
func.func private @shared_body(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %s = stablehlo.sine %a : tensor<4xf32>
  return %s : tensor<4xf32>
}
