// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @leaves_room_for_windows_only
func.func @leaves_room_for_windows_only(%x: tensor<8x32x3xf32>, %k: tensor<3x3x16xf32>) -> tensor<8x30x16xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, k], [m, k, l])->([i, j, l]) {i=8, j=30, k=3, l=16, m=1} reduction={k} permutation={j}>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x3xf32>, tensor<3x3x16xf32>) -> tensor<8x30x16xf32>
  return %0 : tensor<8x30x16xf32>
}

// CHECK-LABEL: func @windows_before_kernel_where_they_do_not_overlap
func.func @windows_before_kernel_where_they_do_not_overlap(%x: tensor<8x32x3xf32>, %k: tensor<4x3x16xf32>) -> tensor<8x8x16xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, jk, l], [k, l, m])->([i, j, m]) {i=8, j=8, k=4, l=3, m=16} reduction={k, l} permutation={j}>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x3xf32>, tensor<4x3x16xf32>) -> tensor<8x8x16xf32>
  return %0 : tensor<8x8x16xf32>
}

// CHECK-LABEL: func @larger_kernel_before_windows
func.func @larger_kernel_before_windows(%x: tensor<8x32x3xf32>, %k: tensor<8x3x16xf32>) -> tensor<8x4x16xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, jk, l], [j, l, m])->([i, k, m]) {i=8, j=8, k=4, l=3, m=16} reduction={j, l} permutation={k}>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [8]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x3xf32>, tensor<8x3x16xf32>) -> tensor<8x4x16xf32>
  return %0 : tensor<8x4x16xf32>
}

// CHECK-LABEL: func @feature_groups_are_major_in_features
func.func @feature_groups_are_major_in_features(%x: tensor<8x16x6xf32>, %k: tensor<1x2x12xf32>) -> tensor<8x16x12xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, kl], [n, l, km])->([i, j, km]) {i=8, j=16, k=3, l=2, m=4, n=1} reduction={l} permutation={j}>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<8x16x6xf32>, tensor<1x2x12xf32>) -> tensor<8x16x12xf32>
  return %0 : tensor<8x16x12xf32>
}

// CHECK-LABEL: func @feature_of_its_own_is_not_reduced_twice
func.func @feature_of_its_own_is_not_reduced_twice(%x: tensor<8x16x6xf32>, %k: tensor<1x1x6xf32>) -> tensor<8x16x6xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, k], [m, l, k])->([i, j, k]) {i=8, j=16, k=6, l=1, m=1} reduction={l} permutation={j}>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 6 : i64} : (tensor<8x16x6xf32>, tensor<1x1x6xf32>) -> tensor<8x16x6xf32>
  return %0 : tensor<8x16x6xf32>
}

// CHECK-LABEL: func @batch_groups_come_first
func.func @batch_groups_come_first(%x: tensor<8x16x6xf32>, %k: tensor<1x6x12xf32>) -> tensor<2x16x12xf32> {
  // CHECK: #sdy.op_sharding_rule<([ij, k, l], [n, l, im])->([j, k, im]) {i=4, j=2, k=16, l=6, m=3, n=1} reduction={l} permutation={k}>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 4 : i64, feature_group_count = 1 : i64} : (tensor<8x16x6xf32>, tensor<1x6x12xf32>) -> tensor<2x16x12xf32>
  return %0 : tensor<2x16x12xf32>
}
