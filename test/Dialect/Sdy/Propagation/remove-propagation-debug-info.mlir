// RUN: mpmd-opt %s -sdy-remove-propagation-debug-info | FileCheck %s

// CHECK-LABEL: func @removes_it_everywhere
// CHECK-SAME: (%arg0: tensor<8xf32> {jax.buffer_donor = true}) -> tensor<8xf32> {
func.func @removes_it_everywhere(%x: tensor<8xf32> {jax.buffer_donor = true, sdy.sharding_origins = {a = "self"}}) -> (tensor<8xf32> {sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"a" = operand-0 -> [result-0]}]}]>}) {
  // CHECK-NEXT: stablehlo.sine %arg0 : tensor<8xf32>
  %0 = stablehlo.sine %x {sdy.sharding_origins = [{a = "input: 0"}], sdy.sharding_origin_name = "op_0"} : tensor<8xf32>
  // CHECK-NEXT: stablehlo.optimization_barrier %0 : tensor<8xf32>
  %1 = stablehlo.optimization_barrier {sdy.block_arg_propagation_edges = [], sdy.block_arg_sharding_origins = [], sdy.result_propagation_edges = [], sdy.result_sharding_origins = []} %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
