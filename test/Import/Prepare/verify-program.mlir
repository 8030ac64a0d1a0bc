// RUN: mpmd-opt %s -mpmd-verify-program | FileCheck %s

// Calls of calls that end, a loop, and a call in the body of a loop of the
// language pass, and stay as they are.
// CHECK-LABEL: func @main
func.func @main(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {
  // CHECK: mpmd.for
  // CHECK: mpmd.call @calls_plain
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%a: tensor<f32>, %index: tensor<ui32>) {
    %2 = mpmd.call @calls_plain(%a) : (tensor<f32>) -> tensor<f32>
    mpmd.return %2 : tensor<f32>
  } : tensor<f32>
  // CHECK: stablehlo.while
  // CHECK: func.call @plain
  %1 = stablehlo.while(%a = %0) : tensor<f32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %2 = func.call @plain(%a) : (tensor<f32>) -> tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }
  return %1 : tensor<f32>
}
// CHECK: func private @calls_plain
func.func private @calls_plain(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @plain(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @plain(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.tanh %x : tensor<f32>
  return %0 : tensor<f32>
}
