// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | mpmd-opt | FileCheck %s

// CHECK-LABEL: func @updates_a_slice
func.func @updates_a_slice(%x: tensor<6x4xf32>, %u: tensor<1x4xf32>, %i: tensor<i32>) {
  // CHECK-NEXT: stablehlo.dynamic_update_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
  return
}

// CHECK-LABEL: func @slices_by_values
func.func @slices_by_values(%x: tensor<6xf32>, %i: tensor<1xi32>) {
  // CHECK-NEXT: stablehlo.real_dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  %0 = stablehlo.real_dynamic_slice %x, %i, %i, %i : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  return
}

// CHECK-LABEL: func @convolves_with_dynamic_padding
func.func @convolves_with_dynamic_padding(%x: tensor<2x9x9x3xf32>, %k: tensor<3x3x3x8xf32>, %p: tensor<2x2xi32>) {
  // CHECK-NEXT: "stablehlo.dynamic_conv"(%{{.*}}, %{{.*}}, %{{.*}}) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x9x9x3xf32>, tensor<3x3x3x8xf32>, tensor<2x2xi32>) -> tensor<2x?x?x8xf32>
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x9x9x3xf32>, tensor<3x3x3x8xf32>, tensor<2x2xi32>) -> tensor<2x?x?x8xf32>
  return
}

// CHECK-LABEL: func @broadcasts_to_a_group
func.func @broadcasts_to_a_group(%x: tensor<6xf32>) {
  // CHECK-NEXT: "stablehlo.collective_broadcast"(%{{.*}}) <{replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>}> : (tensor<6xf32>) -> tensor<6xf32>
  %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// CHECK-LABEL: func @sorts_by_a_comparator
func.func @sorts_by_a_comparator(%x: tensor<3x9xf32>) {
  // CHECK-NEXT: "stablehlo.sort"(%{{.*}}) <{dimension = 1 : i64, is_stable = true}> ({
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<3x9xf32>) -> tensor<3x9xf32>
  return
}
