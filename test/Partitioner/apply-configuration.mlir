// RUN: mpmd-opt %s '-mpmd-apply-configuration=function=step topology={<<"m": <["x"=2]>>>} donate=0,2' | FileCheck %s

// CHECK-LABEL: func.func @step
// CHECK-SAME:    tensor<4xf32> {jax.buffer_donor = true}
// CHECK-SAME:    tensor<4xf32>,
// CHECK-SAME:    tensor<4xf32> {jax.buffer_donor = true}
// CHECK-SAME:    topology = #mpmd.topology<<"m" : <["x"=2]>>>
func.func private @step(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32> {jax.buffer_donor = true}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func private @leaves_others_alone
// CHECK-NOT:     topology
func.func private @leaves_others_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
