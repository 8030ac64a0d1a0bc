// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @all_gather
func.func @all_gather(%x: tensor<4x8x3xf32>) -> tensor<4x16x3xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, k, j])->([i, l, j]) {i=4, j=3, k=8, l=16} need_replication={k, l}>
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8x3xf32>) -> tensor<4x16x3xf32>
  return %0 : tensor<4x16x3xf32>
}

// CHECK-LABEL: func @reduce_scatter
func.func @reduce_scatter(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([j, i])->([k, i]) {i=4, j=8, k=4} need_replication={j, k}>
  %0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: func @all_to_all_between_two_dimensions
func.func @all_to_all_between_two_dimensions(%x: tensor<8x4x3xf32>) -> tensor<4x8x3xf32> {
  // CHECK: #sdy.op_sharding_rule<([j, l, i])->([k, m, i]) {i=3, j=8, k=4, l=4, m=8} need_replication={j, k, l, m}>
  %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x4x3xf32>) -> tensor<4x8x3xf32>
  return %0 : tensor<4x8x3xf32>
}

// CHECK-LABEL: func @all_to_all_within_a_dimension
func.func @all_to_all_within_a_dimension(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([j, i])->([k, i]) {i=4, j=8, k=8} need_replication={j, k}>
  %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func @pieces_of_the_same_shape
func.func @pieces_of_the_same_shape(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: stablehlo.collective_permute{{.*}} #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}>
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.collective_broadcast{{.*}} #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}>
  %1 = "stablehlo.collective_broadcast"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.cross-replica-sum{{.*}} #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}>
  %2 = "stablehlo.cross-replica-sum"(%1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// CHECK-LABEL: func @several_operands
func.func @several_operands(%x: tensor<4x8xf32>, %y: tensor<4x6xf32>) -> tensor<8x6xf32> {
  // CHECK: #sdy.op_sharding_rule<([j, i], [j, i])->([k, i], [k, i]) {i=8, j=4, k=8} need_replication={j, k}>
  %0:2 = "stablehlo.all_gather"(%x, %y) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>, tensor<4x6xf32>) -> (tensor<8x8xf32>, tensor<8x6xf32>)
  return %0#1 : tensor<8x6xf32>
}

// CHECK-LABEL: func @no_rule_for_operands_of_different_ranks
func.func @no_rule_for_operands_of_different_ranks(%x: tensor<4x8xf32>, %y: tensor<6xf32>) {
  // CHECK-NOT: sharding_rule
  // CHECK: return
  %0:2 = "stablehlo.collective_broadcast"(%x, %y) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>, tensor<6xf32>) -> (tensor<4x8xf32>, tensor<6xf32>)
  %1:2 = "stablehlo.all_gather"(%x, %y) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>, tensor<6xf32>) -> (tensor<8x8xf32>, tensor<12xf32>)
  return
}
