// RUN: mpmd-opt %s -split-input-file -allow-unregistered-dialect -mpmd-verify-program -verify-diagnostics

// Without regions there is nothing that inlining could get wrong.
func.func @accepts_unknown_op(%x: tensor<f32>) -> tensor<f32> {
  %0 = "other.op"(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @refuses_unknown_regions(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{operation other.op is not known, and so is not what its regions mean; load its dialect, or remove it}}
  %0 = "other.op"(%x) ({
    "other.yield"(%x) : (tensor<f32>) -> ()
  }) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
