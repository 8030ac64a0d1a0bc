// RUN: mpmd-opt %s -inline | FileCheck %s

// Only func.return is known to end a function.
// CHECK-LABEL: func @keeps_calls
func.func @keeps_calls(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: call @by_sdy
  // CHECK-NEXT: call @by_stablehlo
  %0 = call @by_sdy(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @by_stablehlo(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
func.func private @by_sdy(%x: tensor<8xf32>) -> tensor<8xf32> {
  sdy.return %x : tensor<8xf32>
}
func.func private @by_stablehlo(%x: tensor<8xf32>) -> tensor<8xf32> {
  stablehlo.return %x : tensor<8xf32>
}

// No value crosses a call that is not there any more.
// CHECK-LABEL: func @drops_edges_of_inlined_calls
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>
func.func @drops_edges_of_inlined_calls(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[X]]
  // CHECK-NEXT: %[[C:.*]] = stablehlo.cosine %[[S]]
  // CHECK-NEXT: return %[[C]]
  %0 = stablehlo.sine %x : tensor<8xf32>
  %1 = call @with_edge(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = sdy.func_data_flow_edge %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
func.func private @with_edge(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.func_data_flow_edge %x : tensor<8xf32>
  %1 = stablehlo.cosine %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func @keeps_edges_of_other_calls
func.func @keeps_edges_of_other_calls(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: sdy.func_data_flow_edge
  // CHECK-NEXT: call @by_sdy
  // CHECK-NEXT: sdy.func_data_flow_edge
  %0 = sdy.func_data_flow_edge %x : tensor<8xf32>
  %1 = call @by_sdy(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = sdy.func_data_flow_edge %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
