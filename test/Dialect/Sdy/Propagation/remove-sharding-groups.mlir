// RUN: mpmd-opt %s -sdy-remove-sharding-groups -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @groups_go
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32>)
// CHECK-SAME: -> tensor<12x8xf32>
func.func @groups_go(%a: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: return %[[ARG0]]
  sdy.sharding_group %a group_id=3 : tensor<12x8xf32>
  return %a : tensor<12x8xf32>
}
