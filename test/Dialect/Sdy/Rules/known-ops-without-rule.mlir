// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules -verify-diagnostics | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @says_nothing_about_constants_and_tokens
// CHECK-NOT: sharding_rule
func.func @says_nothing_about_constants_and_tokens() -> (tensor<4xf32>, tensor<4xi32>, tensor<2xf32>, tensor<ui32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %1 = sdy.constant dense<0.0> : tensor<2xf32>
  %2 = stablehlo.iota dim = 0 : tensor<4xi32>
  %3 = stablehlo.create_token : !stablehlo.token
  %4 = stablehlo.after_all %3 : !stablehlo.token
  %5 = "stablehlo.outfeed"(%0, %4) : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %6 = stablehlo.partition_id : tensor<ui32>
  return %0, %2, %1, %6 : tensor<4xf32>, tensor<4xi32>, tensor<2xf32>, tensor<ui32>
}

// CHECK-LABEL: func @says_nothing_about_data_flow_ops
// CHECK-NOT: sharding_rule
func.func @says_nothing_about_data_flow_ops(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.optimization_barrier %x : tensor<4xf32>
  %1 = sdy.data_flow_edge %0 : tensor<4xf32>
  %2 = sdy.named_computation<"f">(%1) (%y: tensor<4xf32>) {
    sdy.return %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func @says_nothing_about_other_sdy_ops_and_calls
// CHECK-NOT: sharding_rule
func.func @says_nothing_about_other_sdy_ops_and_calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  sdy.sharding_group %x group_id=0 : tensor<4xf32>
  %0 = sdy.propagation_barrier %x allowed_direction=NONE : tensor<4xf32>
  %1 = sdy.reshard %0 <@mesh, [{"x"}]> : tensor<4xf32>
  %2 = call @says_nothing_about_data_flow_ops(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func @says_nothing_about_callbacks
// CHECK-NOT: sharding_rule
func.func @says_nothing_about_callbacks(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @xla_python_cpu_callback(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @tpu_custom_call(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func @says_nothing_about_transfers_of_unknown_sizes
// CHECK-NOT: sharding_rule
func.func @says_nothing_about_transfers_of_unknown_sizes(%x: !mpmd.mesh_tensor<"m", tensor<?xf32>>) -> !mpmd.mesh_tensor<"m", tensor<?xf32>> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.transfer %x : (!mpmd.mesh_tensor<"m", tensor<?xf32>>) -> !mpmd.mesh_tensor<"m", tensor<?xf32>>
  return %0 : !mpmd.mesh_tensor<"m", tensor<?xf32>>
}
