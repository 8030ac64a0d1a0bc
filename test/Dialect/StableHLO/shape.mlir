// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// CHECK-LABEL: func @reshaping(
// GENERIC: sym_name = "reshaping"
func.func @reshaping(%x: tensor<6x2xf32>, %s: tensor<2xi64>, %u: tensor<4x2xui32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.reshape %{{.*}} : (tensor<6x2xf32>) -> tensor<3x4xf32>
  // GENERIC: "stablehlo.reshape"(%{{.*}}) : (tensor<6x2xf32>) -> tensor<3x4xf32>
  %0 = stablehlo.reshape %x : (tensor<6x2xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.dynamic_reshape %{{.*}}, %{{.*}} : (tensor<6x2xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %1 = stablehlo.dynamic_reshape %x, %s : (tensor<6x2xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.bitcast_convert %{{.*}} : (tensor<4x2xui32>) -> tensor<4xui64>
  %2 = stablehlo.bitcast_convert %u : (tensor<4x2xui32>) -> tensor<4xui64>
  // CHECK-NEXT: %{{.*}} = stablehlo.transpose %{{.*}}, dims = [1, 0] : (tensor<6x2xf32>) -> tensor<2x6xf32>
  // GENERIC: "stablehlo.transpose"(%{{.*}}) <{permutation = array<i64: 1, 0>}> : (tensor<6x2xf32>) -> tensor<2x6xf32>
  %3 = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x2xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.reverse %{{.*}}, dims = [1] : tensor<6x2xf32>
  // GENERIC: "stablehlo.reverse"(%{{.*}}) <{dimensions = array<i64: 1>}> : (tensor<6x2xf32>) -> tensor<6x2xf32>
  %4 = stablehlo.reverse %x, dims = [1] : tensor<6x2xf32>
  return
}

// CHECK-LABEL: func @broadcasting(
// GENERIC: sym_name = "broadcasting"
func.func @broadcasting(%x: tensor<5xf32>, %f: tensor<f32>, %d: tensor<?xf32>, %s: tensor<2xindex>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.broadcast %{{.*}}, sizes = [2, 3] : (tensor<5xf32>) -> tensor<2x3x5xf32>
  // GENERIC: "stablehlo.broadcast"(%{{.*}}) <{broadcast_sizes = array<i64: 2, 3>}> : (tensor<5xf32>) -> tensor<2x3x5xf32>
  %0 = stablehlo.broadcast %x, sizes = [2, 3] : (tensor<5xf32>) -> tensor<2x3x5xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<5xf32>) -> tensor<3x5xf32>
  // GENERIC: "stablehlo.broadcast_in_dim"(%{{.*}}) <{broadcast_dimensions = array<i64: 1>}> : (tensor<5xf32>) -> tensor<3x5xf32>
  %1 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<5xf32>) -> tensor<3x5xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
  // GENERIC: "stablehlo.broadcast_in_dim"(%{{.*}}) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x5xf32>
  %2 = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.dynamic_broadcast_in_dim %{{.*}}, %{{.*}}, dims = [1] {known_expanding_dimensions = array<i64: 0>} : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  // GENERIC: "stablehlo.dynamic_broadcast_in_dim"(%{{.*}}, %{{.*}}) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 0>}> : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  %3 = stablehlo.dynamic_broadcast_in_dim %d, %s, dims = [1] {known_expanding_dimensions = array<i64: 0>} : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func @slicing(
// GENERIC: sym_name = "slicing"
func.func @slicing(%x: tensor<6x10xf32>, %f: tensor<f32>, %i: tensor<i32>, %u: tensor<1x10xf32>, %v: tensor<2xindex>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.slice %{{.*}} [2:6, 1:10:3] : (tensor<6x10xf32>) -> tensor<4x3xf32>
  // GENERIC: "stablehlo.slice"(%{{.*}}) <{limit_indices = array<i64: 6, 10>, start_indices = array<i64: 2, 1>, strides = array<i64: 1, 3>}> : (tensor<6x10xf32>) -> tensor<4x3xf32>
  %0 = stablehlo.slice %x [2:6, 1:10:3] : (tensor<6x10xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.slice %{{.*}} [] : (tensor<f32>) -> tensor<f32>
  %1 = stablehlo.slice %f [] : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %{{.*}} = stablehlo.dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, sizes = [1, 10] : (tensor<6x10xf32>, tensor<i32>, tensor<i32>) -> tensor<1x10xf32>
  // GENERIC: "stablehlo.dynamic_slice"(%{{.*}}, %{{.*}}, %{{.*}}) <{slice_sizes = array<i64: 1, 10>}> : (tensor<6x10xf32>, tensor<i32>, tensor<i32>) -> tensor<1x10xf32>
  %2 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 10] : (tensor<6x10xf32>, tensor<i32>, tensor<i32>) -> tensor<1x10xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.dynamic_slice %{{.*}}, , sizes = [] : (tensor<f32>) -> tensor<f32>
  %3 = stablehlo.dynamic_slice %f, , sizes = [] : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %{{.*}} = stablehlo.dynamic_update_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<6x10xf32>, tensor<1x10xf32>, tensor<i32>, tensor<i32>) -> tensor<6x10xf32>
  %4 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<6x10xf32>, tensor<1x10xf32>, tensor<i32>, tensor<i32>) -> tensor<6x10xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.real_dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<6x10xf32>, tensor<2xindex>, tensor<2xindex>, tensor<2xindex>) -> tensor<?x?xf32>
  %5 = stablehlo.real_dynamic_slice %x, %v, %v, %v : (tensor<6x10xf32>, tensor<2xindex>, tensor<2xindex>, tensor<2xindex>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func @padding_and_joining(
// GENERIC: sym_name = "padding_and_joining"
func.func @padding_and_joining(%x: tensor<3x9xf32>, %f: tensor<f32>, %p: tensor<2xi32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.pad %{{.*}}, %{{.*}}, low = [1, 0], high = [0, -2], interior = [0, 1] : (tensor<3x9xf32>, tensor<f32>) -> tensor<4x15xf32>
  // GENERIC: "stablehlo.pad"(%{{.*}}, %{{.*}}) <{edge_padding_high = array<i64: 0, -2>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 0, 1>}> : (tensor<3x9xf32>, tensor<f32>) -> tensor<4x15xf32>
  %0 = stablehlo.pad %x, %f, low = [1, 0], high = [0, -2], interior = [0, 1] : (tensor<3x9xf32>, tensor<f32>) -> tensor<4x15xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.dynamic_pad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<3x9xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %1 = stablehlo.dynamic_pad %x, %f, %p, %p, %p : (tensor<3x9xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 0 : (tensor<3x9xf32>, tensor<3x9xf32>) -> tensor<6x9xf32>
  // GENERIC: "stablehlo.concatenate"(%{{.*}}, %{{.*}}) <{dimension = 0 : i64}> : (tensor<3x9xf32>, tensor<3x9xf32>) -> tensor<6x9xf32>
  %2 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<3x9xf32>, tensor<3x9xf32>) -> tensor<6x9xf32>
  return
}

// CHECK-LABEL: func @dynamic_dimensions_have_bounds(
// GENERIC: sym_name = "dynamic_dimensions_have_bounds"
func.func @dynamic_dimensions_have_bounds(%x: tensor<8x6xf32>, %n: tensor<i32>, %d: tensor<?x6xf32, #stablehlo.type_extensions<bounds = [8, ?]>>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.set_dimension_size %{{.*}}, %{{.*}}, dim = 0 : (tensor<8x6xf32>, tensor<i32>) -> tensor<?x6xf32, #stablehlo.bounds<8, ?>>
  // GENERIC: "stablehlo.set_dimension_size"(%{{.*}}, %{{.*}}) <{dimension = 0 : i64}> : (tensor<8x6xf32>, tensor<i32>) -> tensor<?x6xf32, #stablehlo.bounds<8, ?>>
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<8x6xf32>, tensor<i32>) -> tensor<?x6xf32, #stablehlo.bounds<8, ?>>
  // CHECK-NEXT: %{{.*}} = stablehlo.get_dimension_size %{{.*}}, dim = 0 : (tensor<?x6xf32, #stablehlo.bounds<8, ?>>) -> tensor<i32>
  %1 = stablehlo.get_dimension_size %d, dim = 0 : (tensor<?x6xf32, #stablehlo.bounds<8, ?>>) -> tensor<i32>
  return
}

// CHECK-LABEL: func @reshape_of_more_elements_than_can_be_counted
func.func @reshape_of_more_elements_than_can_be_counted(%x: tensor<4294967296x4294967296xf32>) {
  // CHECK-NEXT: stablehlo.reshape
  %0 = stablehlo.reshape %x : (tensor<4294967296x4294967296xf32>) -> tensor<8589934592x2147483648xf32>
  return
}

// Negative edges take away what the interior adds; only the sum is a size.
// CHECK-LABEL: func @padding_whose_sum_is_a_size
func.func @padding_whose_sum_is_a_size(%x: tensor<3xf32>, %v: tensor<f32>) {
  // CHECK-NEXT: stablehlo.pad
  %0 = stablehlo.pad %x, %v, low = [-9223372036854775807], high = [-4], interior = [4611686018427387904] : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

!quantized = tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
!moved = tensor<1x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>

// CHECK-LABEL: func @scales_move_with_their_dimension
func.func @scales_move_with_their_dimension(%x: !quantized, %s: tensor<2xi32>) -> (!moved, !moved, !moved) {
  // CHECK-NEXT: stablehlo.reshape
  // CHECK-NEXT: stablehlo.dynamic_reshape
  // CHECK-NEXT: stablehlo.broadcast_in_dim
  %0 = stablehlo.reshape %x : (!quantized) -> !moved
  %1 = stablehlo.dynamic_reshape %x, %s : (!quantized, tensor<2xi32>) -> !moved
  %2 = stablehlo.broadcast_in_dim %x, dims = [1] : (!quantized) -> !moved
  return %0, %1, %2 : !moved, !moved, !moved
}
