// RUN: mpmd-opt %s -sdy-import-func-calls=max-inlined-ops=6 -o /dev/null
// RUN: not mpmd-opt %s -sdy-import-func-calls=max-inlined-ops=5 2>&1 | FileCheck %s
// RUN: mpmd-opt %s -sdy-flatten-call-graph=max-inlined-ops=6 -o /dev/null
// RUN: not mpmd-opt %s -sdy-flatten-call-graph=max-inlined-ops=5 2>&1 | FileCheck %s

// CHECK: [[@LINE+9]]:8: error: inlining the calls of this program makes more than 5 operations
// CHECK: [[@LINE+1]]:1: note: @f alone has 3 operations once the calls in it are inlined
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.tanh %x : tensor<f32>
  %1 = stablehlo.tanh %0 : tensor<f32>
  return %1 : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @f(%x) : (tensor<f32>) -> tensor<f32>
  %1 = call @f(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
