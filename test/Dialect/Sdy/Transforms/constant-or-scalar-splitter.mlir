// RUN: mpmd-opt %s -sdy-constant-or-scalar-splitter | FileCheck %s

// CHECK-LABEL: func @each_use_gets_its_constant
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>)
func.func @each_use_gets_its_constant(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[A:.*]] = sdy.constant {tag = "k"} dense<0.000000e+00> : tensor<8xf32>
  // CHECK-NEXT: %[[B:.*]] = sdy.constant {tag = "k"} dense<0.000000e+00> : tensor<8xf32>
  // CHECK-NEXT: %[[C:.*]] = stablehlo.add %[[A]], %[[X]]
  // CHECK-NEXT: %[[D:.*]] = stablehlo.add %[[B]], %[[Y]]
  // CHECK-NEXT: return %[[C]], %[[D]]
  %0 = stablehlo.constant {tag = "k"} dense<0.0> : tensor<8xf32>
  %1 = stablehlo.add %0, %x : tensor<8xf32>
  %2 = stablehlo.add %0, %y : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func @scalars_are_shared
func.func @scalars_are_shared(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK-NEXT: %[[A:.*]] = sdy.constant
  // CHECK-NEXT: stablehlo.add %[[A]], %{{.*}}
  // CHECK-NEXT: stablehlo.multiply %[[A]], %{{.*}}
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.add %0, %x : tensor<f32>
  %2 = stablehlo.multiply %0, %x : tensor<f32>
  return %1, %2 : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func @expressions_are_copied_as_a_whole
// CHECK-SAME: (%[[X:.*]]: tensor<8xi32>)
func.func @expressions_are_copied_as_a_whole(%x: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>) {
  // CHECK-NEXT: %[[S:.*]] = sdy.constant dense<2> : tensor<i32>
  // CHECK-NEXT: %[[I0:.*]] = stablehlo.iota
  // CHECK-NEXT: %[[I1:.*]] = stablehlo.iota
  // CHECK-NEXT: %[[B0:.*]] = stablehlo.broadcast_in_dim %[[S]]
  // CHECK-NEXT: %[[B1:.*]] = stablehlo.broadcast_in_dim %[[S]]
  // CHECK-NEXT: %[[M0:.*]] = stablehlo.multiply %[[I0]], %[[B0]]
  // CHECK-NEXT: %[[M1:.*]] = stablehlo.multiply %[[I1]], %[[B1]]
  // CHECK-NEXT: stablehlo.add %[[M0]], %[[X]]
  // CHECK-NEXT: stablehlo.subtract %[[M1]], %[[X]]
  %0 = stablehlo.constant dense<2> : tensor<i32>
  %1 = stablehlo.iota dim = 0 : tensor<8xi32>
  %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<8xi32>
  %3 = stablehlo.multiply %1, %2 : tensor<8xi32>
  %4 = stablehlo.add %3, %x : tensor<8xi32>
  %5 = stablehlo.subtract %3, %x : tensor<8xi32>
  return %4, %5 : tensor<8xi32>, tensor<8xi32>
}

// CHECK-LABEL: func @broadcasts_of_any_scalar_are_copied
// CHECK-SAME: (%[[S:.*]]: tensor<f32>, %[[X:.*]]: tensor<8xf32>)
func.func @broadcasts_of_any_scalar_are_copied(%s: tensor<f32>, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[B0:.*]] = stablehlo.broadcast_in_dim %[[S]]
  // CHECK-NEXT: %[[B1:.*]] = stablehlo.broadcast_in_dim %[[S]]
  // CHECK-NEXT: %[[A:.*]] = stablehlo.add %[[B0]], %[[X]]
  // CHECK-NEXT: return %[[A]], %[[B1]]
  %0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.add %0, %x : tensor<8xf32>
  return %1, %0 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func @copies_join_sharding_groups
func.func @copies_join_sharding_groups(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[A:.*]] = sdy.constant
  // CHECK-NEXT: sdy.sharding_group %[[A]] group_id=5
  // CHECK-NEXT: stablehlo.add %[[A]], %{{.*}}
  // CHECK-NEXT: return
  %0 = stablehlo.constant dense<0.0> : tensor<8xf32>
  sdy.sharding_group %0 group_id=5 : tensor<8xf32>
  %1 = stablehlo.add %0, %x : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func @shared_parts_are_copied_once_per_use
func.func @shared_parts_are_copied_once_per_use(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[C:.*]] = sdy.constant
  // CHECK-NEXT: %[[E:.*]] = stablehlo.exponential %[[C]]
  // CHECK-NEXT: %[[M:.*]] = stablehlo.multiply %[[E]], %[[C]]
  // CHECK-NEXT: stablehlo.add %[[M]], %{{.*}}
  %0 = stablehlo.constant dense<2.0> : tensor<8xf32>
  %1 = stablehlo.exponential %0 : tensor<8xf32>
  %2 = stablehlo.multiply %1, %0 : tensor<8xf32>
  %3 = stablehlo.add %2, %x : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// CHECK-LABEL: func @keeps_what_an_edge_reads
func.func @keeps_what_an_edge_reads() -> tensor<8xf32> {
  // CHECK-NEXT: stablehlo.constant
  // CHECK-NEXT: sdy.data_flow_edge
  %0 = stablehlo.constant dense<0.0> : tensor<8xf32>
  %1 = sdy.data_flow_edge %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
