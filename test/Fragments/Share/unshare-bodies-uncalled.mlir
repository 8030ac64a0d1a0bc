// RUN: mpmd-opt %s --mpmd-unshare-bodies | FileCheck %s
// RUN: mpmd-opt %s --mpmd-lower-to-fragment-calls | FileCheck %s

// Dead code elimination may have put a body back into each of its fragments.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

// CHECK-LABEL: func @main
// CHECK-NOT: shared_body
func.func @main(%arg0: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  return %arg0 : !m
}
func.func private @shared_body(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %s = stablehlo.sine %a : tensor<4xf32>
  return %s : tensor<4xf32>
}
