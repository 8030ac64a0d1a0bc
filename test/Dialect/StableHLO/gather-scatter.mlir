// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | mpmd-opt | FileCheck %s

// CHECK-LABEL: func @gather_with_batching_dims
func.func @gather_with_batching_dims(%x: tensor<3x9x4xf32>, %i: tensor<3x2xi32>) -> tensor<3x2x4xf32> {
  // CHECK: "stablehlo.gather"(%{{.*}}, %{{.*}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<3x9x4xf32>, tensor<3x2xi32>) -> tensor<3x2x4xf32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<3x9x4xf32>, tensor<3x2xi32>) -> tensor<3x2x4xf32>
  return %0 : tensor<3x2x4xf32>
}

// CHECK-LABEL: func @dynamic_gather_of_computed_sizes
func.func @dynamic_gather_of_computed_sizes(%x: tensor<9x4xf32>, %i: tensor<2xi32>, %n: tensor<2xi64>) -> tensor<?x?xf32> {
  // CHECK: "stablehlo.dynamic_gather"(%{{.*}}, %{{.*}}, %{{.*}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0, 1]>, indices_are_sorted = false}> : (tensor<9x4xf32>, tensor<2xi32>, tensor<2xi64>) -> tensor<?x?xf32>
  %0 = "stablehlo.dynamic_gather"(%x, %i, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0, 1]>, indices_are_sorted = false}> : (tensor<9x4xf32>, tensor<2xi32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func @scatter_of_two_inputs
func.func @scatter_of_two_inputs(%x: tensor<9xf32>, %y: tensor<9xi8>, %i: tensor<2x1xui32>, %u: tensor<2xf32>, %v: tensor<2xi8>) {
  // CHECK: "stablehlo.scatter"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  // CHECK: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<i8>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<i8>):
  ^bb0(%a: tensor<f32>, %b: tensor<i8>, %c: tensor<f32>, %d: tensor<i8>):
    // CHECK: stablehlo.return %{{.*}}, %{{.*}} : tensor<f32>, tensor<i8>
    stablehlo.return %c, %b : tensor<f32>, tensor<i8>
  // CHECK: }) : (tensor<9xf32>, tensor<9xi8>, tensor<2x1xui32>, tensor<2xf32>, tensor<2xi8>) -> (tensor<9xf32>, tensor<9xi8>)
  }) : (tensor<9xf32>, tensor<9xi8>, tensor<2x1xui32>, tensor<2xf32>, tensor<2xi8>) -> (tensor<9xf32>, tensor<9xi8>)
  return
}

// CHECK-LABEL: func @torch_index_select_is_not_checked
func.func @torch_index_select_is_not_checked(%x: tensor<9xf32>, %i: tensor<2xi1>) -> tensor<8xi8> {
  // CHECK: "stablehlo.torch_index_select"(%{{.*}}, %{{.*}}) <{batch_dims = 7 : i64, dim = -3 : i64}> : (tensor<9xf32>, tensor<2xi1>) -> tensor<8xi8>
  %0 = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 7 : i64, dim = -3 : i64}> : (tensor<9xf32>, tensor<2xi1>) -> tensor<8xi8>
  return %0 : tensor<8xi8>
}
