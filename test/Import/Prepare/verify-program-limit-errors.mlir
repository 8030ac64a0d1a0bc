// RUN: mpmd-opt %s -mpmd-verify-program=max-inlined-ops=18
// RUN: not mpmd-opt %s -mpmd-verify-program=max-inlined-ops=17 2>&1 | FileCheck %s
// RUN: mpmd-opt %s -mpmd-inline-nested-calls=max-inlined-ops=4
// RUN: not mpmd-opt %s -mpmd-inline-nested-calls=max-inlined-ops=3 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: mpmd-opt %s -mpmd-call-inline=max-inlined-ops=12 -o /dev/null
// RUN: not mpmd-opt %s -mpmd-call-inline=max-inlined-ops=2 2>&1 | FileCheck %s --check-prefix=CALLS

// @twice has 3 operations, and makes 2 calls of 3 operations: the two calls of
// @main make 9 each. Inlining of the calls of @twice alone copies 2 of @three
// twice, without their returns.

// CHECK: [[@LINE+17]]:8: error: inlining the calls of this program makes more than 17 operations; {{.*}} mpmd_max_inlined_ops of a configuration, max-inlined-ops of a pass
// CHECK: [[@LINE+5]]:1: note: @twice alone has 9 operations once the calls in it are inlined
// NESTED: error: inlining the calls of this program makes more than 3 operations
// CALLS: error: inlining the calls of this program makes more than 2 operations

module {
func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @three(%x) : (tensor<f32>) -> tensor<f32>
  %1 = mpmd.call @three(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func @counted(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @twice(%x) {call_counter = 0 : ui32} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @twice(%x) : (tensor<f32>) -> tensor<f32>
  %1 = func.call @twice(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @three(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.tanh %x : tensor<f32>
  %1 = stablehlo.tanh %0 : tensor<f32>
  return %1 : tensor<f32>
}
}
