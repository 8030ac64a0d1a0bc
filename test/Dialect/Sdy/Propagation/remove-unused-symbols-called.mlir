// RUN: mpmd-opt %s -split-input-file -sdy-remove-unused-symbols | FileCheck %s
// RUN: mpmd-opt %s -split-input-file -symbol-dce | FileCheck %s

// What a public function calls itself is used.

// CHECK: func private @helper
func.func private @helper(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
// CHECK: func private @stage
func.func private @stage(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @helper(%x) : (tensor<f32>) -> tensor<f32>
  %1 = mpmd.call @stage(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// What calls something may be unused itself.

// CHECK-NOT: @inner
func.func private @inner() {
  return
}
// CHECK-NOT: @outer
func.func private @outer() {
  call @inner() : () -> ()
  return
}
// CHECK: func @main
func.func @main() {
  return
}

// -----

// Uses in regions and of other functions are found, too.

// CHECK: func private @in_region
func.func private @in_region(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @in_private(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: func private @in_private
func.func private @in_private(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<f32>) {
    %1 = func.call @in_region(%a) : (tensor<f32>) -> tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
