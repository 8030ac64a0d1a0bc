// RUN: mpmd-opt %s -sdy-propagate-sharding-from-func-to-call | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

func.func private @sharded(%x: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<4x4xf32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<4x4xf32>
  return %x, %0 : tensor<8xf32>, tensor<4x4xf32>
}
func.func private @unsharded(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// CHECK-LABEL: func @takes_shardings_of_results
func.func @takes_shardings_of_results(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: call @sharded(%{{.*}}) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{?}, {?}]>]>}
  %0:2 = call @sharded(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<4x4xf32>)
  return %0#0 : tensor<8xf32>
}

// CHECK-LABEL: func @keeps_shardings_of_call
func.func @keeps_shardings_of_call(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: call @sharded(%{{.*}}) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{}, {}]>]>}
  %0:2 = call @sharded(%x) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{}, {}]>]>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<4x4xf32>)
  return %0#0 : tensor<8xf32>
}

// CHECK-LABEL: func @leaves_call_of_unsharded_function_alone
func.func @leaves_call_of_unsharded_function_alone(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: call @unsharded(%{{.*}}) :
  %0 = call @unsharded(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
