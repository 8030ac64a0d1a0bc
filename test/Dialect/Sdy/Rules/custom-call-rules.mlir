// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @pointwise_calls
func.func @pointwise_calls(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: @MoveToHost{{.*}} #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>
  %0 = stablehlo.custom_call @MoveToHost(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: @MoveToDevice{{.*}} #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>
  %1 = stablehlo.custom_call @MoveToDevice(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: @annotate_device_placement{{.*}} #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>
  %2 = stablehlo.custom_call @annotate_device_placement(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: @mhlo.erf{{.*}} #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>
  %3 = stablehlo.custom_call @mhlo.erf(%2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// CHECK-LABEL: func @state_of_random_numbers_stays_whole
func.func @state_of_random_numbers_stays_whole(%x: tensor<2xui32>) -> tensor<4xui32> {
  // CHECK: #sdy.op_sharding_rule<([i], [i])->([i]) {i=2} need_replication={i} blocked_propagation={i}>
  %0 = stablehlo.custom_call @X64Combine(%x, %x) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui64>
  %1, %2 = stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return %2 : tensor<4xui32>
}

// CHECK-LABEL: func @other_halves_of_numbers_are_joined_in_place
func.func @other_halves_of_numbers_are_joined_in_place(%x: tensor<2xui32>) -> tensor<2xui64> {
  // CHECK: #sdy.op_sharding_rule<([i], [i])->([i]) {i=2}>
  %0 = stablehlo.custom_call @X64Combine(%x, %x) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui64>
  return %0 : tensor<2xui64>
}

// CHECK-LABEL: func @eigenvalues
func.func @eigenvalues(%x: tensor<3x4x4xf32>) -> tensor<3x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j, k])->([i, j, k], [i, k]) {i=3, j=4, k=4}>
  %0:2 = stablehlo.custom_call @Eigh(%x) : (tensor<3x4x4xf32>) -> (tensor<3x4x4xf32>, tensor<3x4xf32>)
  return %0#1 : tensor<3x4xf32>
}

// CHECK-LABEL: func @reflectors
func.func @reflectors(%x: tensor<3x6x4xf32>) -> tensor<3x6x4xf32> {
  // CHECK: @Qr({{.*}} #sdy.op_sharding_rule<([i, j, k])->([i, j, k], [i, l]) {i=3, j=6, k=4, l=4} need_replication={j, k, l}>
  %0:2 = stablehlo.custom_call @Qr(%x) : (tensor<3x6x4xf32>) -> (tensor<3x6x4xf32>, tensor<3x4xf32>)
  // CHECK: #sdy.op_sharding_rule<([i, j, k], [i, l])->([i, j, k]) {i=3, j=6, k=4, l=4} need_replication={j, k, l}>
  %1 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%0#0, %0#1) : (tensor<3x6x4xf32>, tensor<3x4xf32>) -> tensor<3x6x4xf32>
  return %1 : tensor<3x6x4xf32>
}

// CHECK-LABEL: func @largest_elements
func.func @largest_elements(%x: tensor<3x16xf32>) -> tensor<3x4xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j])->([i, j], [i, j]) {i=3, j=16} need_replication={j} blocked_propagation={j}>
  %0:2 = stablehlo.custom_call @mhlo.topk(%x) : (tensor<3x16xf32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  return %0#0 : tensor<3x4xf32>
}

// CHECK-LABEL: func @nearly_largest_elements
func.func @nearly_largest_elements(%x: tensor<3x16xf32>, %i: tensor<3x16xi32>, %v: tensor<f32>, %w: tensor<i32>) -> tensor<3x4xf32> {
  // CHECK: @PartialReduce({{.*}} #sdy.op_sharding_rule<([i, j], [i, j], [], [])->([i, k], [i, k]) {i=3, j=16, k=4} need_replication={k} blocked_propagation={k}>
  %0:2 = stablehlo.custom_call @PartialReduce(%x, %i, %v, %w) : (tensor<3x16xf32>, tensor<3x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  return %0#0 : tensor<3x4xf32>
}

// CHECK-LABEL: func @no_rule_for_calls_of_another_form_than_their_name_says
func.func @no_rule_for_calls_of_another_form_than_their_name_says(%x: tensor<3x4xf32>, %t: !stablehlo.token) -> tensor<3xf32> {
  // CHECK-NOT: sharding_rule
  // CHECK: return
  %0:2 = stablehlo.custom_call @Eigh(%x) : (tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>)
  %1 = stablehlo.custom_call @MoveToHost(%0#0) : (tensor<4xf32>) -> tensor<2x2xf32>
  %2 = stablehlo.custom_call @Qr(%1) : (tensor<2x2xf32>) -> tensor<f32>
  %3 = stablehlo.custom_call @PartialReduce(%2) : (tensor<f32>) -> tensor<3xf32>
  %4 = stablehlo.custom_call @mhlo.topk(%t) : (!stablehlo.token) -> tensor<3xf32>
  return %4 : tensor<3xf32>
}
