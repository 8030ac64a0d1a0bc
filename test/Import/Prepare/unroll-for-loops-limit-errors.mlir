// RUN: mpmd-opt %s -mpmd-unroll-for-loops=max-inlined-ops=12 -o /dev/null
// RUN: not mpmd-opt %s -mpmd-unroll-for-loops=max-inlined-ops=11 2>&1 | FileCheck %s

// The loop is counted with its two operations, four times.

// CHECK: [[@LINE+2]]:8: error: unrolling 4 iterations would make 12 operations; expected at most 11, let the loop do fewer iterations, or allow more by the option mpmd_max_inlined_ops of a configuration, max-inlined-ops of a pass
func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.for (%x) {iterations = 4 : ui32, unroll_factor = 4 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    %1 = stablehlo.tanh %s : tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}
