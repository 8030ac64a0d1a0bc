// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @cuts_dimension_where_other_side_does
func.func @cuts_dimension_where_other_side_does(%x: tensor<12x8xf32>) -> tensor<3x32xf32> {
  // CHECK: #sdy.op_sharding_rule<([ij, k])->([i, jk]) {i=3, j=4, k=8}>
  %0 = stablehlo.reshape %x : (tensor<12x8xf32>) -> tensor<3x32xf32>
  return %0 : tensor<3x32xf32>
}

// CHECK-LABEL: func @shares_only_common_divisors
func.func @shares_only_common_divisors(%x: tensor<12x8xf32>) -> tensor<16x6xf32> {
  // CHECK: #sdy.op_sharding_rule<([ij, km])->([ij, lm]) {i=4, j=3, k=4, l=3, m=2} need_replication={k, l} permutation={j}>
  %0 = stablehlo.reshape %x : (tensor<12x8xf32>) -> tensor<16x6xf32>
  return %0 : tensor<16x6xf32>
}

// CHECK-LABEL: func @dimensions_of_size_one_have_factors_of_their_own
func.func @dimensions_of_size_one_have_factors_of_their_own(%x: tensor<12x1x8xf32>) -> tensor<4x24xf32> {
  // CHECK: #sdy.op_sharding_rule<([ij, k, l])->([i, jl]) {i=4, j=3, k=1, l=8} need_replication={k}>
  %0 = stablehlo.reshape %x : (tensor<12x1x8xf32>) -> tensor<4x24xf32>
  return %0 : tensor<4x24xf32>
}

// CHECK-LABEL: func @splits_heads_from_features
func.func @splits_heads_from_features(%x: tensor<16x32x512xf32>) -> tensor<16x32x8x64xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, kl])->([i, j, k, l]) {i=16, j=32, k=8, l=64}>
  %0 = stablehlo.reshape %x : (tensor<16x32x512xf32>) -> tensor<16x32x8x64xf32>
  return %0 : tensor<16x32x8x64xf32>
}

// CHECK-LABEL: func @transposed_primes_share_what_fits
func.func @transposed_primes_share_what_fits(%x: tensor<3x5xf32>) -> tensor<5x3xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j])->([i, k]) {i=3, j=5, k=3} need_replication={j, k} permutation={i}>
  %0 = stablehlo.reshape %x : (tensor<3x5xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// CHECK-LABEL: func @scalar_has_no_factors
func.func @scalar_has_no_factors(%x: tensor<1x1xf32>) -> tensor<f32> {
  // CHECK: #sdy.op_sharding_rule<([i, j])->([]) {i=1, j=1} need_replication={i, j}>
  %0 = stablehlo.reshape %x : (tensor<1x1xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func @no_rule_without_elements
func.func @no_rule_without_elements(%x: tensor<0x8xf32>) -> tensor<2x0xf32> {
  // CHECK-NEXT: stablehlo.reshape %{{.*}} : (tensor<0x8xf32>)
  %0 = stablehlo.reshape %x : (tensor<0x8xf32>) -> tensor<2x0xf32>
  return %0 : tensor<2x0xf32>
}

// The parts that the sides have in common cannot be counted.
// CHECK-LABEL: func @has_no_rule_for_more_elements_than_can_be_counted
func.func @has_no_rule_for_more_elements_than_can_be_counted(%x: tensor<4294967296x4294967296x3xf32>) -> tensor<8589934592x2147483648x3xf32> {
  // CHECK-NEXT: stablehlo.reshape %{{[^{]*$}}
  %0 = stablehlo.reshape %x : (tensor<4294967296x4294967296x3xf32>) -> tensor<8589934592x2147483648x3xf32>
  return %0 : tensor<8589934592x2147483648x3xf32>
}
