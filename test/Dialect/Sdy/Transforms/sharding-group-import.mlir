// RUN: mpmd-opt %s -sdy-sharding-group-import -split-input-file | FileCheck %s

// CHECK-LABEL: func @unites_groups_with_common_value
// CHECK-SAME: (%[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>, %[[C:.*]]: tensor<8xf32>, %[[D:.*]]: tensor<8xf32>)
func.func @unites_groups_with_common_value(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>) {
  // CHECK-NEXT: sdy.sharding_group %[[A]] group_id=1
  // CHECK-NEXT: sdy.sharding_group %[[B]] group_id=1
  // CHECK-NEXT: sdy.sharding_group %[[C]] group_id=1
  // CHECK-NEXT: sdy.sharding_group %[[D]] group_id=0
  // CHECK-NEXT: return
  sdy.sharding_group %a group_id=40 : tensor<8xf32>
  sdy.sharding_group %b group_id=7 : tensor<8xf32>
  sdy.sharding_group %a group_id=9 : tensor<8xf32>
  sdy.sharding_group %b group_id=9 : tensor<8xf32>
  sdy.sharding_group %b group_id=9 : tensor<8xf32>
  sdy.sharding_group %c group_id=40 : tensor<8xf32>
  sdy.sharding_group %d group_id=3 : tensor<8xf32>
  return
}

// -----

// CHECK-LABEL: func @takes_the_smallest_and_the_largest_id
// CHECK-SAME: (%[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>, %[[C:.*]]: tensor<8xf32>)
func.func @takes_the_smallest_and_the_largest_id(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) {
  // CHECK-NEXT: sdy.sharding_group %[[A]] group_id=1
  // CHECK-NEXT: sdy.sharding_group %[[B]] group_id=0
  // CHECK-NEXT: sdy.sharding_group %[[C]] group_id=2
  // CHECK-NEXT: return
  sdy.sharding_group %a group_id=9223372036854775806 : tensor<8xf32>
  sdy.sharding_group %b group_id=-9223372036854775808 : tensor<8xf32>
  sdy.sharding_group %c group_id=9223372036854775807 : tensor<8xf32>
  return
}
