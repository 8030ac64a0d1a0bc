// RUN: mpmd-opt %s -split-input-file -verify-diagnostics

func.func @gather_dimensions_fill_rank(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{expects rank of operand}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_index_vector_dim_is_in_range(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{is out of bounds for start_indices}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_offset_dims_are_sorted(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{expects offset_dims to be sorted}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_offset_dims_are_unique(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{expects offset_dims to not repeat}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_collapsed_dims_are_in_range(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{collapsed_slice_dims to be in range}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_map_has_vector_size(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{is not equal to size of index dimension}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_has_a_slice_size_per_dimension(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{not equal to operand rank}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_slice_fits(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{is out of bounds for operand dimension}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_collapsed_slice_is_one(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{to be <= 1, but got 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_batching_pairs_up(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{should have the same size}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_batching_excludes_vectors(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{not to include index_vector_dim}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_batching_sizes_agree(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{should have compatible sizes}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_batching_is_not_mapped(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{duplicated dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_result_is_inferred(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+2 {{are incompatible with return type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @scatter_updates_have_rank(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>) {
  // expected-error@+1 {{must be of rank 2}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_updates_have_batches_of_indices(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>, %u: tensor<2x4xf32>) {
  // expected-error@+1 {{bounds of the scatter dimensions}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<2x4xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_window_fits(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x5xf32>) {
  // expected-error@+1 {{to not exceed the bounds}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_dimensions_fill_rank(%x: tensor<9x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error@+1 {{expects rank of operand}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_region_is_reducer(%x: tensor<9xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>) {
  // expected-error@+1 {{must take 2 parameters}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<9xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @dynamic_gather_size_of_slice_sizes(%x: tensor<3x4x2xi32>, %i: tensor<2x3x2xi64>, %s: tensor<1099511627776xi64>) {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{slice_sizes size (1099511627776) not equal to operand rank (3)}}
  %0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 2>}> : (tensor<3x4x2xi32>, tensor<2x3x2xi64>, tensor<1099511627776xi64>) -> tensor<2x3x2x2xi32>
  return
}

// -----

func.func @smallest_slice_size(%x: tensor<4xf32>, %i: tensor<1xi32>) {
  // expected-error@+2 {{slice size (-9223372036854775808) is out of bounds for operand dimension (4) at index 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: -9223372036854775808>}> : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>
  return
}
