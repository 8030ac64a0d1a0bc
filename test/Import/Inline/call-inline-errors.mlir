// RUN: mpmd-opt %s -mpmd-call-inline -verify-diagnostics -split-input-file

func.func @reports_callee_without_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{callee @f is not a function whose body is one block, which inlining needs}}
  %0 = mpmd.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @reports_call_that_passes_too_much(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{call has 2 operands and 1 results, but callee @f has 1 arguments and 1 results}}
  %0 = mpmd.call @f(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
