// RUN: mpmd-opt %s -sdy-constant-or-scalar-splitter=max-copied-ops=3 -verify-diagnostics

func.func @chain(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.constant dense<1.0> : tensor<8xf32>
  %1 = stablehlo.sine %0 : tensor<8xf32>
  %2 = stablehlo.add %1, %x : tensor<8xf32>
  // expected-error@+1 {{more than 3 operations would be copied, so that each reader of a constant has its own; raise max-copied-ops}}
  %3 = stablehlo.multiply %1, %x : tensor<8xf32>
  return %2, %3 : tensor<8xf32>, tensor<8xf32>
}
