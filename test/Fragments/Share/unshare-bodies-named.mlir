// RUN: mpmd-opt %s --mpmd-unshare-bodies | FileCheck %s
// RUN: mpmd-opt %s --mpmd-lower-to-fragment-calls | FileCheck %s

// What something else than a fragment names stays there for it.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

// CHECK-LABEL: func @keeps_body_that_is_called_elsewhere
// CHECK-NOT: custom_call
// CHECK: call @body
// CHECK: func private @body
func.func @keeps_body_that_is_called_elsewhere(%arg0: !m, %arg1: tensor<4xf32>) -> (!m, tensor<4xf32>) attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = call @body(%arg1) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : !m, tensor<4xf32>
}
func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %s = stablehlo.sine %a : tensor<4xf32>
  return %s : tensor<4xf32>
}
