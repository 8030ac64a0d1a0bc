// RUN: mpmd-opt %s -allow-unregistered-dialect | FileCheck %s

// An op that no dialect knows has no short form.
// CHECK-LABEL: func @prints_body_of_unregistered_op
func.func @prints_body_of_unregistered_op(%x: tensor<4xf32>, %i: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: stablehlo.reduce(%arg0 init: %arg1) across dimensions = [0]
  // CHECK-NEXT: reducer(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>)
  // CHECK-NEXT:   "other.combine"(%[[A]], %[[B]])
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %1 = "other.combine"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}
