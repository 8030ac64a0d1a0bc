// RUN: mpmd-opt %s -sdy-insert-func-call-reshards | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

func.func private @f(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  return %x : tensor<8xf32>
}
func.func private @g(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return %x : tensor<8xf32>
}
func.func private @unsharded(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// CHECK-LABEL: func @wraps_call_in_reshards
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32> {{.*}}) ->
func.func @wraps_call_in_reshards(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: %[[BEFORE:.*]] = sdy.reshard %[[X]] <@mesh, [{}]>
  // CHECK-NEXT: %[[CALL:.*]] = call @f(%[[BEFORE]]) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>}
  // CHECK-NEXT: %[[AFTER:.*]] = sdy.reshard %[[CALL]] <@mesh, [{"x"}]>
  // CHECK-NEXT: return %[[AFTER]]
  %0 = call @f(%x) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @value_without_sharding_takes_that_of_function
func.func @value_without_sharding_takes_that_of_function(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[BEFORE:.*]] = sdy.reshard %{{.*}} <@mesh, [{"x"}]>
  // CHECK-NEXT: %[[CALL:.*]] = call @g(%[[BEFORE]]) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
  // CHECK-NEXT: return %[[CALL]]
  %0 = call @g(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @leaves_equivalent_shardings_alone
func.func @leaves_equivalent_shardings_alone(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: call @g(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>}
  // CHECK-NEXT: return
  %0 = call @g(%x) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @leaves_call_of_unsharded_function_alone
func.func @leaves_call_of_unsharded_function_alone(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: call @unsharded(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
  // CHECK-NEXT: return
  %0 = call @unsharded(%x) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @behind_an_edge
func.func @behind_an_edge(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK:      %[[C:.*]] = call @g(
  // CHECK-NEXT: %[[E:.*]] = sdy.func_data_flow_edge %[[C]]
  // CHECK-NEXT: %[[R:.*]] = sdy.reshard %[[E]] <@mesh, [{}]>
  // CHECK-NEXT: return %[[R]]
  %0 = call @g(%x) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.func_data_flow_edge %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
