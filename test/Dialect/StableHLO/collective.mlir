// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | mpmd-opt | FileCheck %s

module @mesh_symbol {
}

// CHECK-LABEL: func @all_gather_of_two_operands
func.func @all_gather_of_two_operands(%x: tensor<2x4xf32>, %y: tensor<2x1xi8>) {
  // CHECK: "stablehlo.all_gather"(%{{.*}}, %{{.*}}) <{all_gather_dim = 1 : i64, replica_groups = dense<{{\[\[}}0, 2], [1, 3{{\]\]}}> : tensor<2x2xi64>}> : (tensor<2x4xf32>, tensor<2x1xi8>) -> (tensor<2x8xf32>, tensor<2x2xi8>)
  %0:2 = "stablehlo.all_gather"(%x, %y) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>, tensor<2x1xi8>) -> (tensor<2x8xf32>, tensor<2x2xi8>)
  return
}

// CHECK-LABEL: func @all_reduce_with_padded_groups
func.func @all_reduce_with_padded_groups(%x: tensor<4xf32>) {
  // CHECK: "stablehlo.all_reduce"(%{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<{{\[\[}}0, 1], [2, -1{{\]\]}}> : tensor<2x2xi64>, use_global_device_ids}> ({
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>, use_global_device_ids}> ({
  // CHECK: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>):
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // CHECK: stablehlo.return %{{.*}} : tensor<f32>
    stablehlo.return %a : tensor<f32>
  // CHECK: }) : (tensor<4xf32>) -> tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func @reduce_scatter_over_mesh_axes
func.func @reduce_scatter_over_mesh_axes(%x: tensor<4xf32>) {
  // CHECK: "stablehlo.reduce_scatter"(%{{.*}}) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh_symbol, axes = [#stablehlo.axis_ref<name = "x">]>, scatter_dimension = 0 : i64}> ({
  %0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh_symbol, axes = [#stablehlo.axis_ref<name = "x">]>, scatter_dimension = 0 : i64}> ({
  // CHECK: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>):
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // CHECK: stablehlo.return %{{.*}} : tensor<f32>
    stablehlo.return %a : tensor<f32>
  // CHECK: }) : (tensor<4xf32>) -> tensor<2xf32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func @all_to_all_and_permute
func.func @all_to_all_and_permute(%x: tensor<4x3xf32>) {
  // CHECK: "stablehlo.all_to_all"(%{{.*}}) <{concat_dimension = 1 : i64, replica_groups = dense<{{\[\[}}0, 1{{\]\]}}> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  // CHECK: "stablehlo.collective_permute"(%{{.*}}) <{source_target_pairs = dense<{{\[\[}}0, 3], [3, 0{{\]\]}}> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 3], [3, 0]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: "stablehlo.cross-replica-sum"(%{{.*}}) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// CHECK-LABEL: func @broadcast_from_dynamic_root
func.func @broadcast_from_dynamic_root(%x: tensor<4xf32>, %root: tensor<1xi32>) {
  // CHECK: "stablehlo.collective_broadcast"(%{{.*}}, %{{.*}}) <{has_dynamic_root, replica_groups = dense<{{\[\[}}4, 7{{\]\]}}> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
  %0 = "stablehlo.collective_broadcast"(%x, %root) <{has_dynamic_root, replica_groups = dense<[[4, 7]]> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
  // CHECK: "stablehlo.collective_reduce"(%{{.*}}, %{{.*}}) <{has_dynamic_root, replica_groups = dense<{{\[\[}}1, 0{{\]\]}}> : tensor<1x2xi64>}> ({
  %1 = "stablehlo.collective_reduce"(%x, %root) <{has_dynamic_root, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  // CHECK: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>):
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // CHECK: stablehlo.maximum %{{.*}}, %{{.*}} : tensor<f32>
    %2 = stablehlo.maximum %a, %b : tensor<f32>
    // CHECK: stablehlo.return %{{.*}} : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  // CHECK: }) : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
  }) : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func @async_collective
func.func @async_collective(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: "stablehlo.async_start"(%{{.*}}) ({
  %0 = "stablehlo.async_start"(%x) ({
  // CHECK: ^bb0(%{{.*}}: tensor<4xf32>):
  ^bb0(%a: tensor<4xf32>):
    // CHECK: "stablehlo.collective_permute"(%{{.*}}) <{source_target_pairs = dense<{{\[\[}}0, 1{{\]\]}}> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: stablehlo.return %{{.*}} : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  // CHECK: }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  // CHECK: "stablehlo.async_done"(%{{.*}}) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func @replica_groups_of_padding_only
func.func @replica_groups_of_padding_only(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: replica_groups = dense<-1> : tensor<1099511627776x2xi64>
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<-1> : tensor<1099511627776x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func @more_groups_of_padding_than_can_be_counted
func.func @more_groups_of_padding_than_can_be_counted(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: replica_groups = dense<-1> : tensor<9223372036854775807x2xi64>
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<-1> : tensor<9223372036854775807x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func @ids_may_be_as_large_as_they_get
func.func @ids_may_be_as_large_as_they_get(%x: tensor<6xf32>) {
  // CHECK: replica_groups = dense<{{\[\[}}9223372036854775807, 9223372036854775806{{\]\]}}> : tensor<1x2xi64>
  %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[9223372036854775807, 9223372036854775806]]> : tensor<1x2xi64>}> : (tensor<6xf32>) -> tensor<6xf32>
  // CHECK: source_target_pairs = dense<{{\[\[}}9223372036854775807, 9223372036854775806{{\]\]}}> : tensor<1x2xi64>
  %1 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[9223372036854775807, 9223372036854775806]]> : tensor<1x2xi64>}> : (tensor<6xf32>) -> tensor<6xf32>
  return
}
