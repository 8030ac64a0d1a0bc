// RUN: mpmd-opt %s -inline | FileCheck %s
// RUN: mpmd-opt %s -pass-pipeline='builtin.module(inline{op-pipelines=func.func(canonicalize) max-iterations=2})' | FileCheck %s

// A function that calls only itself stays a call.
// CHECK-LABEL: func @main
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: call @itself
// CHECK-NEXT: return
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @f(%x) : (tensor<f32>) -> tensor<f32>
  %1 = call @itself(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
// CHECK-NOT: @f(
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.tanh %x : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @itself(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @itself(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
