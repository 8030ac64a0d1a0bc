// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | mpmd-opt | FileCheck %s

// CHECK-LABEL: func @functions_of_one_operand
func.func @functions_of_one_operand(%x: tensor<?x4xf32>, %c: tensor<4xcomplex<f64>>, %u: tensor<*xbf16>) {
  // CHECK: chlo.square %{{.*}} : tensor<?x4xf32> -> tensor<?x4xf32>
  %0 = chlo.square %x : tensor<?x4xf32> -> tensor<?x4xf32>
  // CHECK: chlo.conj %{{.*}} {note} : tensor<4xcomplex<f64>> -> tensor<4xcomplex<f64>>
  %1 = chlo.conj %c {note} : tensor<4xcomplex<f64>> -> tensor<4xcomplex<f64>>
  // CHECK: chlo.lgamma %{{.*}} : tensor<*xbf16> -> tensor<*xbf16>
  %2 = chlo.lgamma %u : tensor<*xbf16> -> tensor<*xbf16>
  // CHECK: chlo._asin_acos_kernel %{{.*}} : tensor<4xcomplex<f64>> -> tensor<4xcomplex<f64>>
  %3 = chlo._asin_acos_kernel %c : tensor<4xcomplex<f64>> -> tensor<4xcomplex<f64>>
  // CHECK: chlo.is_pos_inf %{{.*}} : tensor<?x4xf32> -> tensor<?x4xi1>
  %4 = chlo.is_pos_inf %x : tensor<?x4xf32> -> tensor<?x4xi1>
  return
}

// CHECK-LABEL: func @functions_of_two_operands
func.func @functions_of_two_operands(%x: tensor<4xf32>, %i: tensor<4xui8>) {
  // CHECK: chlo.next_after %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %0 = chlo.next_after %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.polygamma %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.polygamma %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.zeta %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %2 = chlo.zeta %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.mulhi %{{.*}}, %{{.*}} : tensor<4xui8>, tensor<4xui8> -> tensor<4xui8>
  %3 = chlo.mulhi %i, %i : tensor<4xui8>, tensor<4xui8> -> tensor<4xui8>
  return
}

// CHECK-LABEL: func @broadcasts
func.func @broadcasts(%x: tensor<4xf32>, %y: tensor<3x1xf32>, %b: tensor<4xi1>) {
  // CHECK: chlo.broadcast_add %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %0 = chlo.broadcast_add %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_power %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = chlo.broadcast_power %x, %x {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: chlo.broadcast_xor %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %2 = chlo.broadcast_xor %b, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK: chlo.broadcast_compare %{{.*}}, %{{.*}} {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xi1>
  %3 = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xi1>
  // CHECK: chlo.broadcast_complex %{{.*}}, %{{.*}} : (tensor<3x1xf32>, tensor<4xf32>) -> tensor<3x4xcomplex<f32>>
  %4 = chlo.broadcast_complex %y, %x : (tensor<3x1xf32>, tensor<4xf32>) -> tensor<3x4xcomplex<f32>>
  // CHECK: chlo.broadcast_select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<3x1xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %5 = chlo.broadcast_select %b, %y, %x : (tensor<4xi1>, tensor<3x1xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return
}

// CHECK-LABEL: func @constants
func.func @constants(%x: tensor<?xi8>) {
  // CHECK: chlo.constant {note} dense<[1, -2]> : tensor<2xi8>
  %0 = chlo.constant {note} dense<[1, -2]> : tensor<2xi8>
  // CHECK: "chlo.constant_like"(%{{.*}}) <{value = 3 : i8}> : (tensor<?xi8>) -> tensor<?xi8>
  %1 = "chlo.constant_like"(%x) <{value = 3 : i8}> : (tensor<?xi8>) -> tensor<?xi8>
  return
}

// CHECK-LABEL: func @top_k_names_its_results
func.func @top_k_names_its_results(%x: tensor<2x7xf32>) -> tensor<2x3xi32> {
  // CHECK: chlo.top_k(%{{.*}}, k = 3) {note} : tensor<2x7xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %values, %indices = chlo.top_k(%x, k = 3) {note} : tensor<2x7xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  // CHECK: chlo.top_k(%{{.*}}, k = 3, is_stable = false) : tensor<2x7xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %values_0, %indices_1 = chlo.top_k(%x, k = 3, is_stable = false) : tensor<2x7xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  return %indices_1 : tensor<2x3xi32>
}

// CHECK-LABEL: func @ragged_dot_of_contracted_groups
func.func @ragged_dot_of_contracted_groups(%a: tensor<5x8xf32>, %b: tensor<8x6xf32>, %n: tensor<3xi32>) -> tensor<3x5x6xf32> {
  // CHECK: "chlo.ragged_dot"(%{{.*}}, %{{.*}}, %{{.*}}) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>}> : (tensor<5x8xf32>, tensor<8x6xf32>, tensor<3xi32>) -> tensor<3x5x6xf32>
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>}> : (tensor<5x8xf32>, tensor<8x6xf32>, tensor<3xi32>) -> tensor<3x5x6xf32>
  return %0 : tensor<3x5x6xf32>
}

// CHECK-LABEL: func @ragged_dot_sizes_of_free_dimensions
func.func @ragged_dot_sizes_of_free_dimensions(%a: tensor<4x12x5xf32>, %b: tensor<3x5x7xf32>, %n: tensor<4x3xi32>) -> tensor<4x12x7xf32> {
  // CHECK: "chlo.ragged_dot"(%{{.*}}, %{{.*}}, %{{.*}}) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<4x12x5xf32>, tensor<3x5x7xf32>, tensor<4x3xi32>) -> tensor<4x12x7xf32>
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<4x12x5xf32>, tensor<3x5x7xf32>, tensor<4x3xi32>) -> tensor<4x12x7xf32>
  return %0 : tensor<4x12x7xf32>
}

// CHECK-LABEL: func @ragged_dot_sizes_of_batches
func.func @ragged_dot_sizes_of_batches(%a: tensor<2x12x5xf32>, %b: tensor<2x3x5x7xf32>, %n: tensor<2x3xi32>) -> tensor<2x12x7xf32> {
  // CHECK: "chlo.ragged_dot"(%{{.*}}, %{{.*}}, %{{.*}}) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [1]>}> : (tensor<2x12x5xf32>, tensor<2x3x5x7xf32>, tensor<2x3xi32>) -> tensor<2x12x7xf32>
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [1]>}> : (tensor<2x12x5xf32>, tensor<2x3x5x7xf32>, tensor<2x3xi32>) -> tensor<2x12x7xf32>
  return %0 : tensor<2x12x7xf32>
}

// CHECK-LABEL: func @ragged_dot_sizes_of_contracted_dimensions
func.func @ragged_dot_sizes_of_contracted_dimensions(%a: tensor<4x5x8xf32>, %b: tensor<5x8x6xf32>, %n: tensor<5x3xi32>) -> tensor<3x4x6xf32> {
  // CHECK: "chlo.ragged_dot"(%{{.*}}, %{{.*}}, %{{.*}}) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1, 2], rhs_contracting_dimensions = [0, 1], lhs_ragged_dimensions = [2]>}> : (tensor<4x5x8xf32>, tensor<5x8x6xf32>, tensor<5x3xi32>) -> tensor<3x4x6xf32>
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1, 2], rhs_contracting_dimensions = [0, 1], lhs_ragged_dimensions = [2]>}> : (tensor<4x5x8xf32>, tensor<5x8x6xf32>, tensor<5x3xi32>) -> tensor<3x4x6xf32>
  return %0 : tensor<3x4x6xf32>
}

// CHECK-LABEL: func @ragged_dot_sizes_of_ragged_batches
func.func @ragged_dot_sizes_of_ragged_batches(%a: tensor<2x3x5x8xf32>, %b: tensor<2x3x8x6xf32>, %n: tensor<2x4xi32>) -> tensor<2x3x5x6xf32> {
  // CHECK: "chlo.ragged_dot"(%{{.*}}, %{{.*}}, %{{.*}}) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1]>}> : (tensor<2x3x5x8xf32>, tensor<2x3x8x6xf32>, tensor<2x4xi32>) -> tensor<2x3x5x6xf32>
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1]>}> : (tensor<2x3x5x8xf32>, tensor<2x3x8x6xf32>, tensor<2x4xi32>) -> tensor<2x3x5x6xf32>
  return %0 : tensor<2x3x5x6xf32>
}

// CHECK-LABEL: func @scan_prints_given_attributes
func.func @scan_prints_given_attributes(%x: tensor<2x6xf32>, %i: tensor<2xf32>) {
  // CHECK: chlo.scan(%{{.*}}) inits (%{{.*}}) dimension=1  {
  %0:2 = chlo.scan(%x) inits (%i) dimension=1  {
  // CHECK: ^bb0(%{{.*}}: tensor<2xf32>, %{{.*}}: tensor<2xf32>):
  ^bb0(%input: tensor<2xf32>, %carry: tensor<2xf32>):
    // CHECK: stablehlo.subtract %{{.*}}, %{{.*}} : tensor<2xf32>
    %1 = stablehlo.subtract %carry, %input : tensor<2xf32>
    // CHECK: stablehlo.return %{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xf32>
    stablehlo.return %input, %1 : tensor<2xf32>, tensor<2xf32>
  // CHECK: } : (tensor<2x6xf32>, tensor<2xf32>) -> (tensor<2x6xf32>, tensor<2xf32>)
  } : (tensor<2x6xf32>, tensor<2xf32>) -> (tensor<2x6xf32>, tensor<2xf32>)
  // CHECK: chlo.scan(%{{.*}}) inits () dimension=1  attributes {is_reverse = false, scan_dim_size = 6 : i64} {
  %2 = chlo.scan(%x) inits () dimension=1  attributes {is_reverse = false, scan_dim_size = 6 : i64} {
  // CHECK: ^bb0(%{{.*}}: tensor<2xf32>):
  ^bb0(%input: tensor<2xf32>):
    // CHECK: stablehlo.return %{{.*}} : tensor<2xf32>
    stablehlo.return %input : tensor<2xf32>
  // CHECK: } : (tensor<2x6xf32>) -> tensor<2x6xf32>
  } : (tensor<2x6xf32>) -> tensor<2x6xf32>
  return
}
