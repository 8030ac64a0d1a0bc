// RUN: mpmd-opt %s -split-input-file -verify-diagnostics

func.func @groups_have_rank_two(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{should be a rank 2 tensor}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @ids_are_distinct(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{replica id #0 seen more than once}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @ids_cover_the_range(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{replica id #1 not seen}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @ids_are_not_padded(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{must be positive}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @global_ids_need_groups(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{cannot be empty}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<> : tensor<0x2xi64>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @all_gather_dim_is_in_range(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{valid index of operand}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @all_gather_result_is_multiple(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{must be a multiple}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x7xf32>
  return
}

// -----

func.func @all_gather_other_sizes_agree(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{same shape except for}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @all_gather_keeps_element_type(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{same element type}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x8xf16>
  return
}

// -----

func.func @mesh_symbol_exists(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{mesh symbol 'nowhere' not found; expected an op of that name in the module, or a #stablehlo.mesh}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @nowhere, axes = []>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

// expected-error@+1 {{mesh symbol 'nowhere' not found; expected an op of that name in the module, or a #stablehlo.mesh}}
func.func @mesh_symbol_of_discardable_attribute_exists() attributes {my.groups = #stablehlo.replica_group_mesh_axes<mesh = @nowhere, axes = []>} {
  return
}

// -----

func.func @all_reduce_global_ids_need_channel(%x: tensor<4xf32>) {
  // expected-error@+1 {{channel_id must be at least 1}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_operand_promotes(%x: tensor<4xi32>) {
  // expected-error@+1 {{does not promote}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_scatter_operand_is_multiple(%x: tensor<5xf32>) {
  // expected-error@+1 {{must be a multiple}}
  %0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<5xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_scatter_result_has_returned_elements(%x: tensor<4xf32>) {
  // expected-error@+1 {{element type that the computation returns}}
  %0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf16>
  return
}

// -----

func.func @all_to_all_count_divides_size(%x: tensor<3x2xf32>) {
  // expected-error@+2 {{expected to be a multiple of split_count 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @all_to_all_group_has_count_members(%x: tensor<3x2xf32>) {
  // expected-error@+2 {{group size of replica_groups must be 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 3 : i64, split_dimension = 0 : i64}> : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @all_to_all_dimension_is_in_range(%x: tensor<3x2xf32>) {
  // expected-error@+2 {{less than the rank}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @permute_has_pairs(%x: tensor<4xf32>) {
  // expected-error@+2 {{(N, 2)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<0> : tensor<2x3xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @permute_ids_are_not_negative(%x: tensor<4xf32>) {
  // expected-error@+2 {{must be >= 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @permute_sources_are_unique(%x: tensor<4xf32>) {
  // expected-error@+2 {{duplicate sources}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @permute_targets_are_unique(%x: tensor<4xf32>) {
  // expected-error@+2 {{duplicate targets}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_root_has_entry_per_operand(%x: tensor<4xf32>, %r: tensor<2xi32>) {
  // expected-error@+2 {{to be tensor<1xi32>}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.collective_broadcast"(%x, %r) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<2xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @async_start_holds_one_op(%x: tensor<4xf32>) {
  // expected-error@+1 {{exactly one operation in its body}}
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}

// -----

func.func @async_start_holds_collective_or_slice(%x: tensor<4xf32>) {
  // expected-error@+1 {{but got stablehlo.negate}}
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    %1 = stablehlo.negate %a : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}

// -----

func.func @async_done_returns_what_future_holds(%x: !stablehlo.future<tensor<4xf32>>) {
  // expected-error@+2 {{are incompatible with return type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.async_done"(%x) : (!stablehlo.future<tensor<4xf32>>) -> tensor<5xf32>
  return
}

// -----

func.func @reduce_scatter_of_nothing(%x: tensor<0xf32>) {
  // expected-error@+1 {{operand dimension size at scatter_dimension 0 cannot be zero}}
  %0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<0xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @all_to_all_makes_too_large_a_size(%x: tensor<2x4611686018427387904xf32>) {
  // expected-error@+2 {{makes the size of concat_dimension 1 more than 2^63 - 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2x4611686018427387904xf32>) -> tensor<1x1xf32>
  return
}
