// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @bitcast_to_same_shape
func.func @bitcast_to_same_shape(%x: tensor<4x8xf32>) -> tensor<4x8xi32> {
  // CHECK: #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>
  %0 = stablehlo.bitcast_convert %x : (tensor<4x8xf32>) -> tensor<4x8xi32>
  return %0 : tensor<4x8xi32>
}

// CHECK-LABEL: func @bitcast_to_parts
func.func @bitcast_to_parts(%x: tensor<4x8xf32>) -> tensor<4x8x4xi8> {
  // CHECK: #sdy.op_sharding_rule<([i, j])->([i, j, k]) {i=4, j=8, k=4} need_replication={k}>
  %0 = stablehlo.bitcast_convert %x : (tensor<4x8xf32>) -> tensor<4x8x4xi8>
  return %0 : tensor<4x8x4xi8>
}

// CHECK-LABEL: func @bitcast_from_parts
func.func @bitcast_from_parts(%x: tensor<4x8x2xi16>) -> tensor<4x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, k])->([i, j]) {i=4, j=8, k=2} need_replication={k}>
  %0 = stablehlo.bitcast_convert %x : (tensor<4x8x2xi16>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func @broadcast_to_new_dimension
func.func @broadcast_to_new_dimension(%x: tensor<8x4xf32>) -> tensor<8x5x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, k])->([i, j, k]) {i=8, j=5, k=4}>
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<8x4xf32>) -> tensor<8x5x4xf32>
  return %0 : tensor<8x5x4xf32>
}

// CHECK-LABEL: func @broadcast_of_scalar
func.func @broadcast_of_scalar(%x: tensor<f32>) -> tensor<8x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([])->([i, j]) {i=8, j=4}>
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func @broadcast_of_dimension_of_size_one
func.func @broadcast_of_dimension_of_size_one(%x: tensor<3x1x5xf32>) -> tensor<3x5x7xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, k, j])->([i, j, l]) {i=3, j=5, k=1, l=7}>
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2, 1] : (tensor<3x1x5xf32>) -> tensor<3x5x7xf32>
  return %0 : tensor<3x5x7xf32>
}

// CHECK-LABEL: func @reverse
func.func @reverse(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=2, j=3, k=4} permutation={i, k}>
  %0 = stablehlo.reverse %x, dims = [2, 0] : tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func @transpose
func.func @transpose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  // CHECK: #sdy.op_sharding_rule<([j, k, i])->([i, j, k]) {i=4, j=2, k=3}>
  %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}

// CHECK-LABEL: func @rng_bit_generator
func.func @rng_bit_generator(%x: tensor<2xui64>) -> tensor<8x4xui32> {
  // CHECK: #sdy.op_sharding_rule<([i])->([i], [j, k]) {i=2, j=8, k=4} need_replication={i} blocked_propagation={i}>
  %0, %1 = stablehlo.rng_bit_generator %x, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x4xui32>)
  return %1 : tensor<8x4xui32>
}

// CHECK-LABEL: func @sort_replicates_sorted_dimension
func.func @sort_replicates_sorted_dimension(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8} need_replication={j}>
  %0 = "stablehlo.sort"(%x) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func @sort_blocks_only_dimension
func.func @sort_blocks_only_dimension(%x: tensor<1x8xf32>, %y: tensor<1x8xi32>) -> (tensor<1x8xf32>, tensor<1x8xi32>) {
  // CHECK: #sdy.op_sharding_rule<([i, j], [i, j])->([i, j], [i, j]) {i=1, j=8} need_replication={j} blocked_propagation={j}>
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<1x8xf32>, tensor<1x8xi32>) -> (tensor<1x8xf32>, tensor<1x8xi32>)
  return %0#0, %0#1 : tensor<1x8xf32>, tensor<1x8xi32>
}

//===----------------------------------------------------------------------===//
// concatenate
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @concatenate_replicates_joined_dimension
func.func @concatenate_replicates_joined_dimension(%x: tensor<4x8xf32>, %y: tensor<4x2xf32>) -> tensor<4x10xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=4, j=10} need_replication={j}>
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// CHECK-LABEL: func @concatenate_of_slices_permutes
func.func @concatenate_of_slices_permutes(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.slice %x [0:4, 0:3] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.slice %y [0:4, 0:3] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  // CHECK: stablehlo.concatenate {{.*}} #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=4, j=6} permutation={j}>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

// CHECK-LABEL: func @concatenate_of_value_and_its_slice_permutes
func.func @concatenate_of_value_and_its_slice_permutes(%x: tensor<4x8xf32>) -> tensor<4x11xf32> {
  %0 = stablehlo.slice %x [0:4, 0:3] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  // CHECK: stablehlo.concatenate {{.*}} permutation={j}>
  %1 = stablehlo.concatenate %x, %0, dim = 1 : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x11xf32>
  return %1 : tensor<4x11xf32>
}

// CHECK-LABEL: func @concatenate_of_slice_and_another_value_replicates
func.func @concatenate_of_slice_and_another_value_replicates(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x11xf32> {
  %0 = stablehlo.slice %x [0:4, 0:3] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  // CHECK: stablehlo.concatenate {{.*}} need_replication={j}>
  %1 = stablehlo.concatenate %y, %0, dim = 1 : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x11xf32>
  return %1 : tensor<4x11xf32>
}

// CHECK-LABEL: func @concatenate_looks_through_one_slice_only
func.func @concatenate_looks_through_one_slice_only(%x: tensor<4x8xf32>) -> tensor<4x11xf32> {
  %0 = stablehlo.slice %x [0:4, 0:5] : (tensor<4x8xf32>) -> tensor<4x5xf32>
  %1 = stablehlo.slice %0 [0:4, 0:3] : (tensor<4x5xf32>) -> tensor<4x3xf32>
  // CHECK: stablehlo.concatenate {{.*}} need_replication={j}>
  %2 = stablehlo.concatenate %x, %1, dim = 1 : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x11xf32>
  return %2 : tensor<4x11xf32>
}

// CHECK-LABEL: func @concatenate_of_a_value_with_itself_replicates
func.func @concatenate_of_a_value_with_itself_replicates(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  // CHECK: stablehlo.concatenate {{.*}} need_replication={j}>
  %0 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
