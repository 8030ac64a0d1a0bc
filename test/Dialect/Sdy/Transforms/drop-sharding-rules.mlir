// RUN: mpmd-opt %s -sdy-drop-sharding-rules | FileCheck %s

// CHECK-LABEL: func @keeps_custom_rules_only
func.func @keeps_custom_rules_only(%x: tensor<8xf32>) {
  // CHECK-NEXT: stablehlo.sine %{{.*}} : tensor<8xf32>
  %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : tensor<8xf32>
  // CHECK-NEXT: stablehlo.sine %{{.*}} {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>} : tensor<8xf32>
  %1 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>} : tensor<8xf32>
  return
}
