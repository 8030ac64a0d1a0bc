// RUN: mpmd-opt %s --verify-roundtrip=false -split-input-file -mpmd-verify-program -verify-diagnostics

// What is read here could not be read again.

// expected-error@+1 {{has an empty name, which cannot be written down; name it, or leave the name out of a module}}
module @"" {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

// expected-error@+1 {{has an empty name, which cannot be written down}}
sdy.mesh @"" = <["x"=2]>
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @""(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// expected-error@+1 {{has an empty name, which cannot be written down}}
func.func private @""(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
