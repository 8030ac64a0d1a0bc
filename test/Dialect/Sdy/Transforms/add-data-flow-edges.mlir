// RUN: mpmd-opt %s -sdy-add-data-flow-edges | FileCheck %s
// RUN: mpmd-opt %s -sdy-add-data-flow-edges -sdy-add-data-flow-edges | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @edge_after_each_result_takes_over_its_uses
// CHECK-SAME: (%[[X:.*]]: tensor<12x8xf32>, %[[T:.*]]: !stablehlo.token)
func.func @edge_after_each_result_takes_over_its_uses(%x: tensor<12x8xf32>, %t: !stablehlo.token) -> (tensor<12x8xf32>, !stablehlo.token, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[B:.*]]:3 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {?}]>, <@grid, []>, <@grid, [{?}, {?}]>]>} %[[X]], %[[T]], %[[X]]
  // CHECK-NEXT: %[[E0:.*]] = sdy.data_flow_edge %[[B]]#0 sharding=<@grid, [{"r"}, {?}]> : tensor<12x8xf32>
  // CHECK-NEXT: %[[E2:.*]] = sdy.data_flow_edge %[[B]]#2 sharding=<@grid, [{?}, {?}]> : tensor<12x8xf32>
  // CHECK-NEXT: return %[[E0]], %[[B]]#1, %[[E2]]
  %0:3 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {?}]>, <@grid, []>, <@grid, [{?}, {?}]>]>} %x, %t, %x : tensor<12x8xf32>, !stablehlo.token, tensor<12x8xf32>
  return %0#0, %0#1, %0#2 : tensor<12x8xf32>, !stablehlo.token, tensor<12x8xf32>
}

// CHECK-LABEL: func @leaves_dynamic_shapes_alone
func.func @leaves_dynamic_shapes_alone(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-NEXT: stablehlo.optimization_barrier
  // CHECK-NEXT: return
  %0 = stablehlo.optimization_barrier %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func @unused_results_get_edges
func.func @unused_results_get_edges(%x: tensor<12x8xf32>) {
  // CHECK-NEXT: %[[B:.*]] = stablehlo.optimization_barrier
  // CHECK-NEXT: sdy.data_flow_edge %[[B]] : tensor<12x8xf32>
  %0 = stablehlo.optimization_barrier %x : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @while_owns_edges_at_its_results
func.func @while_owns_edges_at_its_results(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[W:.*]] = stablehlo.while(%[[ARG:.*]] = %{{.*}}) : tensor<12x8xf32>
  // CHECK: stablehlo.negate %[[ARG]]
  // CHECK: %[[E:.*]] = sdy.data_flow_edge %[[W]] : tensor<12x8xf32>
  // CHECK-NEXT: return %[[E]]
  %0 = stablehlo.while(%arg = %x) : tensor<12x8xf32>
  cond {
    %1 = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.negate %arg : tensor<12x8xf32>
    stablehlo.return %1 : tensor<12x8xf32>
  }
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @case_owns_edges_at_its_results
func.func @case_owns_edges_at_its_results(%i: tensor<i32>, %x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[C:.*]] = "stablehlo.case"
  // CHECK: %[[E:.*]] = sdy.data_flow_edge %[[C]] : tensor<12x8xf32>
  // CHECK-NEXT: return %[[E]]
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<12x8xf32>
  }) : (tensor<i32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @manual_computation_owns_edges_at_arguments_and_results
func.func @manual_computation_owns_edges_at_arguments_and_results(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[M:.*]] = sdy.manual_computation(%{{.*}}) in_shardings=[<@grid, [{"r", ?}, {?}]>] out_shardings=[<@grid, [{"r"}, {"c"}]>] manual_axes={"r"} (%[[Y:.*]]: tensor<6x8xf32>) {
  // CHECK-NEXT:   %[[E0:.*]] = sdy.data_flow_edge %[[Y]] sharding=<@grid, [{?}, {?}]> : tensor<6x8xf32>
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %[[E0]], %[[E0]]
  // CHECK-NEXT:   sdy.return %[[S]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[E1:.*]] = sdy.data_flow_edge %[[M]] sharding=<@grid, [{"r"}, {"c"}]> : tensor<12x8xf32>
  // CHECK-NEXT: return %[[E1]]
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"r", ?}, {?}]>] out_shardings=[<@grid, [{"r"}, {"c"}]>] manual_axes={"r"} (%y: tensor<6x8xf32>) {
    %1 = stablehlo.add %y, %y : tensor<6x8xf32>
    sdy.return %1 : tensor<6x8xf32>
  } : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @named_computation_owns_edges_at_arguments_and_results
func.func @named_computation_owns_edges_at_arguments_and_results(%x: tensor<12x8xf32>, %z: tensor<4xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[N:.*]] = sdy.named_computation<"f">(%{{.*}}) in_shardings=[<@grid, [{"r"}, {}]>, <@grid, [{?}]>] (%[[A:.*]]: tensor<12x8xf32>, %[[B:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[E0:.*]] = sdy.data_flow_edge %[[A]] sharding=<@grid, [{"r"}, {}]> : tensor<12x8xf32>
  // CHECK-NEXT:   sdy.data_flow_edge %[[B]] sharding=<@grid, [{?}]> : tensor<4xf32>
  // CHECK-NEXT:   sdy.return %[[E0]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[E2:.*]] = sdy.data_flow_edge %[[N]] : tensor<12x8xf32>
  // CHECK-NEXT: return %[[E2]]
  %0 = sdy.named_computation<"f">(%x, %z) in_shardings=[<@grid, [{"r"}, {}]>, <@grid, [{?}]>] (%a: tensor<12x8xf32>, %b: tensor<4xf32>) {
    sdy.return %a : tensor<12x8xf32>
  } : (tensor<12x8xf32>, tensor<4xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}
