// RUN: mpmd-opt %s -sdy-constant-or-scalar-merger | FileCheck %s

sdy.mesh @grid = <["r"=2]>

// CHECK-LABEL: func @merges_equal_constants_with_equal_sharding
func.func @merges_equal_constants_with_equal_sharding() -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[A:.*]] = sdy.constant dense<0.000000e+00>
  // CHECK-NEXT: %[[B:.*]] = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}]>]>} dense<0.000000e+00>
  // CHECK-NEXT: return %[[A]], %[[B]], %[[A]]
  %0 = sdy.constant dense<0.0> : tensor<8xf32>
  %1 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}]>]>} dense<0.0> : tensor<8xf32>
  %2 = sdy.constant dense<0.0> : tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func @keeps_equal_iotas
func.func @keeps_equal_iotas() -> (tensor<8xi32>, tensor<8xi32>) {
  // CHECK-COUNT-2: stablehlo.iota
  %0 = stablehlo.iota dim = 0 : tensor<8xi32>
  %1 = stablehlo.iota dim = 0 : tensor<8xi32>
  return %0, %1 : tensor<8xi32>, tensor<8xi32>
}

// CHECK-LABEL: func @merges_broadcasts_of_one_scalar
func.func @merges_broadcasts_of_one_scalar() -> (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[S:.*]] = sdy.constant
  // CHECK-NEXT: %[[A:.*]] = stablehlo.broadcast_in_dim %[[S]], dims = [] : (tensor<f32>) -> tensor<8xf32>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.broadcast_in_dim %[[S]], dims = [] : (tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: return %[[A]], %[[A]], %[[B]]
  %0 = sdy.constant dense<1.0> : tensor<f32>
  %1 = sdy.constant dense<1.0> : tensor<f32>
  %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %4 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<4xf32>
  return %2, %3, %4 : tensor<8xf32>, tensor<8xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @keeps_broadcasts_of_tensors
func.func @keeps_broadcasts_of_tensors(%x: tensor<8xf32>) -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  // CHECK-COUNT-2: stablehlo.broadcast_in_dim
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<8xf32>) -> tensor<8x2xf32>
  %1 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<8xf32>) -> tensor<8x2xf32>
  return %0, %1 : tensor<8x2xf32>, tensor<8x2xf32>
}

// CHECK-LABEL: func @keeps_constants_of_other_regions
func.func @keeps_constants_of_other_regions(%i: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: sdy.constant
  // CHECK: stablehlo.case
  // CHECK: sdy.constant
  %0 = sdy.constant dense<0.0> : tensor<8xf32>
  %1 = "stablehlo.case"(%i) ({
    %2 = sdy.constant dense<0.0> : tensor<8xf32>
    stablehlo.return %2 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
