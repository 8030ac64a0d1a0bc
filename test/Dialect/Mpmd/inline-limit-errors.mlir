// RUN: mpmd-opt %s -inline=max-inlined-ops=18 -o /dev/null
// RUN: not mpmd-opt %s -inline=max-inlined-ops=17 2>&1 | FileCheck %s
// RUN: not mpmd-opt %s -inline=max-inlined-ops=many 2>&1 | FileCheck %s --check-prefix=NUMBER

// @twice has 3 operations, and calls 3 two times: each call of it makes 9.

// CHECK: error: inlining the calls of this program makes more than 17 operations; {{.*}} max-inlined-ops of a pass
// NUMBER: error: max-inlined-ops must be a number, but is "many"
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @twice(%x) : (tensor<f32>) -> tensor<f32>
  %1 = call @twice(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @three(%x) : (tensor<f32>) -> tensor<f32>
  %1 = call @three(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @three(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.tanh %x : tensor<f32>
  %1 = stablehlo.tanh %0 : tensor<f32>
  return %1 : tensor<f32>
}
