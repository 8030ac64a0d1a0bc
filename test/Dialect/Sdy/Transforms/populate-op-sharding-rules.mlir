// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @stores_rule_of_op
func.func @stores_rule_of_op(%x: tensor<12x8xf32>, %y: tensor<8x4xf32>) -> tensor<12x4xf32> {
  // CHECK: stablehlo.dot_general {{.*}} {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=12, j=4, k=8} reduction={k}>}
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<12x8xf32>, tensor<8x4xf32>) -> tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}

// CHECK-LABEL: func @keeps_rule_of_user
func.func @keeps_rule_of_user(%x: tensor<12xf32>) -> tensor<12xf32> {
  // CHECK: sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=12} need_replication={i}, custom>
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=12} need_replication={i}, custom>} : tensor<12xf32>
  return %0 : tensor<12xf32>
}

// CHECK-LABEL: func @reaches_ops_in_regions
func.func @reaches_ops_in_regions(%x: tensor<12xf32>) -> tensor<12xf32> {
  // CHECK: sdy.named_computation
  // CHECK-NEXT: stablehlo.sine {{.*}} #sdy.op_sharding_rule<([i])->([i]) {i=12}>
  %0 = sdy.named_computation<"f">(%x) (%y: tensor<12xf32>) {
    %1 = stablehlo.sine %y : tensor<12xf32>
    sdy.return %1 : tensor<12xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}
