// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @slice
func.func @slice(%x: tensor<12x8xf32>) -> tensor<12x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j])->([i, j]) {i=12, j=8} permutation={j}>
  %0 = stablehlo.slice %x [0:12, 2:6] : (tensor<12x8xf32>) -> tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}

// CHECK-LABEL: func @pad
func.func @pad(%x: tensor<12x8xf32>, %v: tensor<f32>) -> tensor<13x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=12, j=8} permutation={i}>
  %0 = stablehlo.pad %x, %v, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<12x8xf32>, tensor<f32>) -> tensor<13x8xf32>
  return %0 : tensor<13x8xf32>
}

// CHECK-LABEL: func @pad_that_keeps_the_size
func.func @pad_that_keeps_the_size(%x: tensor<12x8xf32>, %v: tensor<f32>) -> tensor<12x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=12, j=8}>
  %0 = stablehlo.pad %x, %v, low = [1, 0], high = [-1, 0], interior = [0, 0] : (tensor<12x8xf32>, tensor<f32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @dynamic_slice
func.func @dynamic_slice(%x: tensor<12x8xf32>, %i: tensor<i32>) -> tensor<12x2xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j], [], [])->([i, j]) {i=12, j=8} need_replication={j} blocked_propagation={j}>
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [12, 2] : (tensor<12x8xf32>, tensor<i32>, tensor<i32>) -> tensor<12x2xf32>
  return %0 : tensor<12x2xf32>
}

// CHECK-LABEL: func @dynamic_update_slice
func.func @dynamic_update_slice(%x: tensor<12x8xf32>, %u: tensor<12x2xf32>, %i: tensor<i32>) -> tensor<12x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j], [i, k], [], [])->([i, j]) {i=12, j=8, k=2} need_replication={k}>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<12x8xf32>, tensor<12x2xf32>, tensor<i32>, tensor<i32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @dynamic_update_slice_at_known_place
func.func @dynamic_update_slice_at_known_place(%x: tensor<12x8xf32>, %u: tensor<12x2xf32>) -> tensor<12x8xf32> {
  %i = stablehlo.constant dense<1> : tensor<i32>
  %j = sdy.constant dense<1> : tensor<i32>
  // CHECK: #sdy.op_sharding_rule<([i, j], [i, k], [], [])->([i, j]) {i=12, j=8, k=2}>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<12x8xf32>, tensor<12x2xf32>, tensor<i32>, tensor<i32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}
