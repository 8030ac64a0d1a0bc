// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @reduces_collapsed_dimension
func.func @reduces_collapsed_dimension(%x: tensor<12x8xf32>, %i: tensor<5x1xi32>) -> tensor<5x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([k, j], [i, l])->([i, j]) {i=5, j=8, k=12, l=1} reduction={k} need_replication={l}>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<12x8xf32>, tensor<5x1xi32>) -> tensor<5x8xf32>
  return %0 : tensor<5x8xf32>
}

// CHECK-LABEL: func @replicates_collapsed_dimension_of_size_one
func.func @replicates_collapsed_dimension_of_size_one(%x: tensor<1x8xf32>, %i: tensor<5x1xi32>) -> tensor<5x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([k, j], [i, l])->([i, j]) {i=5, j=8, k=1, l=1} need_replication={k, l}>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<1x8xf32>, tensor<5x1xi32>) -> tensor<5x8xf32>
  return %0 : tensor<5x8xf32>
}

// CHECK-LABEL: func @reduces_dimension_of_which_one_element_is_read
func.func @reduces_dimension_of_which_one_element_is_read(%x: tensor<12x8xf32>, %i: tensor<5x1xi32>) -> tensor<5x1x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([j, l], [i, m])->([i, k, l]) {i=5, j=12, k=1, l=8, m=1} reduction={j} need_replication={k, m}>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<12x8xf32>, tensor<5x1xi32>) -> tensor<5x1x8xf32>
  return %0 : tensor<5x1x8xf32>
}

// CHECK-LABEL: func @blocks_dimension_of_which_a_part_is_read
func.func @blocks_dimension_of_which_a_part_is_read(%x: tensor<12x8xf32>, %i: tensor<2x5x7xi32>) -> tensor<5x3x7xf32> {
  // CHECK: #sdy.op_sharding_rule<([j, l], [m, i, k])->([i, j, k]) {i=5, j=12, k=7, l=8, m=2} reduction={l} need_replication={j, m} blocked_propagation={j}>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [0, 1], index_vector_dim = 0>, slice_sizes = array<i64: 3, 1>}> : (tensor<12x8xf32>, tensor<2x5x7xi32>) -> tensor<5x3x7xf32>
  return %0 : tensor<5x3x7xf32>
}

// CHECK-LABEL: func @shares_batching_dimensions
func.func @shares_batching_dimensions(%x: tensor<3x12x8xf32>, %i: tensor<4x3x1xi32>) -> tensor<4x3x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([j, l, k], [i, j, m])->([i, j, k]) {i=4, j=3, k=8, l=12, m=1} reduction={l} need_replication={m}>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 8>}> : (tensor<3x12x8xf32>, tensor<4x3x1xi32>) -> tensor<4x3x8xf32>
  return %0 : tensor<4x3x8xf32>
}

// CHECK-LABEL: func @indices_without_dimension_of_vectors
func.func @indices_without_dimension_of_vectors(%x: tensor<12x8xf32>, %i: tensor<5xi32>) -> tensor<5x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([k, j], [i])->([i, j]) {i=5, j=8, k=12} reduction={k}>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<12x8xf32>, tensor<5xi32>) -> tensor<5x8xf32>
  return %0 : tensor<5x8xf32>
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @reduces_batches_that_are_added
func.func @reduces_batches_that_are_added(%x: tensor<12x8xf32>, %i: tensor<5x1xi32>, %u: tensor<5x8xf32>) -> tensor<12x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([k, j], [i, l], [i, j])->([k, j]) {i=5, j=8, k=12, l=1} reduction={i} need_replication={l}>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %1 = stablehlo.add %new, %old : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<12x8xf32>, tensor<5x1xi32>, tensor<5x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @replicates_batches_that_overwrite
func.func @replicates_batches_that_overwrite(%x: tensor<12x8xf32>, %i: tensor<5x1xi32>, %u: tensor<5x8xf32>) -> tensor<12x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([k, j], [i, l], [i, j])->([k, j]) {i=5, j=8, k=12, l=1} need_replication={i, l}>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<12x8xf32>, tensor<5x1xi32>, tensor<5x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @replicates_batches_with_more_than_one_op
func.func @replicates_batches_with_more_than_one_op(%x: tensor<12x8xf32>, %i: tensor<5x1xi32>, %u: tensor<5x8xf32>) -> tensor<12x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([k, j], [i, l], [i, j])->([k, j]) {i=5, j=8, k=12, l=1} need_replication={i, l}>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %1 = stablehlo.add %old, %new : tensor<f32>
    %2 = stablehlo.add %1, %new : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<12x8xf32>, tensor<5x1xi32>, tensor<5x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @reduces_batches_of_booleans_that_are_joined
func.func @reduces_batches_of_booleans_that_are_joined(%x: tensor<12x8xi1>, %i: tensor<5x1xi32>, %u: tensor<5x8xi1>) -> tensor<12x8xi1> {
  // CHECK: ([k, j], [i, l], [i, j])->([k, j]) {i=5, j=8, k=12, l=1} reduction={i} need_replication={l}>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<i1>, %new: tensor<i1>):
    %1 = stablehlo.or %old, %new : tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<12x8xi1>, tensor<5x1xi32>, tensor<5x8xi1>) -> tensor<12x8xi1>
  return %0 : tensor<12x8xi1>
}

// CHECK-LABEL: func @replicates_batches_of_integers_that_are_joined_by_bits
func.func @replicates_batches_of_integers_that_are_joined_by_bits(%x: tensor<12x8xi32>, %i: tensor<5x1xi32>, %u: tensor<5x8xi32>) -> tensor<12x8xi32> {
  // CHECK: ([k, j], [i, l], [i, j])->([k, j]) {i=5, j=8, k=12, l=1} need_replication={i, l}>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    %1 = stablehlo.or %old, %new : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<12x8xi32>, tensor<5x1xi32>, tensor<5x8xi32>) -> tensor<12x8xi32>
  return %0 : tensor<12x8xi32>
}

// CHECK-LABEL: func @maps_every_input_and_its_updates
func.func @maps_every_input_and_its_updates(%x: tensor<12x8xf32>, %y: tensor<12x8xf32>, %i: tensor<5x1xi32>, %u: tensor<5x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK: ([k, j], [k, j], [i, l], [i, j], [i, j])->([k, j], [k, j]) {i=5, j=8, k=12, l=1} reduction={i} need_replication={l}>
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %1 = stablehlo.maximum %a, %c : tensor<f32>
    %2 = stablehlo.maximum %b, %d : tensor<f32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
  }) : (tensor<12x8xf32>, tensor<12x8xf32>, tensor<5x1xi32>, tensor<5x8xf32>, tensor<5x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>)
  return %0#0, %0#1 : tensor<12x8xf32>, tensor<12x8xf32>
}

// CHECK-LABEL: func @replicates_batches_of_inputs_that_are_combined_differently
func.func @replicates_batches_of_inputs_that_are_combined_differently(%x: tensor<12x8xf32>, %y: tensor<12x8xf32>, %i: tensor<5x1xi32>, %u: tensor<5x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK: {i=5, j=8, k=12, l=1} need_replication={i, l}>
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %1 = stablehlo.add %a, %c : tensor<f32>
    %2 = stablehlo.maximum %b, %d : tensor<f32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
  }) : (tensor<12x8xf32>, tensor<12x8xf32>, tensor<5x1xi32>, tensor<5x8xf32>, tensor<5x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>)
  return %0#0, %0#1 : tensor<12x8xf32>, tensor<12x8xf32>
}

// CHECK-LABEL: func @replicates_windows_that_are_smaller_than_the_input
func.func @replicates_windows_that_are_smaller_than_the_input(%x: tensor<12x8xf32>, %i: tensor<5x1xi32>, %u: tensor<5x3x8xf32>) -> tensor<12x8xf32> {
  // CHECK: ([j, l], [i, m], [i, k, l])->([j, l]) {i=5, j=12, k=3, l=8, m=1} reduction={i} need_replication={j, k, m}>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %1 = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<12x8xf32>, tensor<5x1xi32>, tensor<5x3x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @shares_batching_dimensions_of_inputs
func.func @shares_batching_dimensions_of_inputs(%x: tensor<3x12x8xf32>, %i: tensor<4x3x1xi32>, %u: tensor<4x3x8xf32>) -> tensor<3x12x8xf32> {
  // CHECK: ([j, l, k], [i, j, m], [i, j, k])->([j, l, k]) {i=4, j=3, k=8, l=12, m=1} reduction={i} need_replication={m}>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %1 = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<3x12x8xf32>, tensor<4x3x1xi32>, tensor<4x3x8xf32>) -> tensor<3x12x8xf32>
  return %0 : tensor<3x12x8xf32>
}
