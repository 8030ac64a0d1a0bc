// RUN: mpmd-opt %s -sdy-sink-data-flow-edges | FileCheck %s
// RUN: mpmd-opt %s -sdy-sink-data-flow-edges='sink-debug-sharding-origins sink-debug-propagation-edge-sharding' | FileCheck %s --check-prefix=DEBUG

sdy.mesh @grid = <["r"=2, "c"=4]>
sdy.mesh @line = <["r"=2]>

// CHECK-LABEL: func @one_sharding_opens_the_other_owners
// CHECK-SAME: (%[[X:.*]]: tensor<12x8xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @one_sharding_opens_the_other_owners(%x: tensor<12x8xf32>, %y: tensor<4xf32>) -> (tensor<12x8xf32>, tensor<4xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[B:.*]]:3 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {?}]>, <@grid, [{?}]>, <@grid, [{"r"}, {?}]>]>} %[[X]], %[[Y]], %[[X]]
  // CHECK-NEXT: return %[[B]]#0, %[[B]]#1, %[[B]]#2
  // DEBUG: stablehlo.optimization_barrier {sdy.result_sharding_origins = [{a = 1 : i64}, {}, {}], sdy.sharding =
  %0:3 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@line, [{"r"}, {?}]>, <@line, [{?}]>, <@line, [{?}, {?}]>]>} %x, %y, %x : tensor<12x8xf32>, tensor<4xf32>, tensor<12x8xf32>
  %1 = sdy.data_flow_edge %0#0 {sdy.sharding_origins = {a = 1 : i64}} : tensor<12x8xf32>
  %2 = sdy.data_flow_edge %0#2 sharding=<@grid, [{"r"}, {?}]> : tensor<12x8xf32>
  return %1, %0#1, %2 : tensor<12x8xf32>, tensor<4xf32>, tensor<12x8xf32>
}

// CHECK-LABEL: func @without_sharding_the_list_stays
func.func @without_sharding_the_list_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[B:.*]] = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@line, [{"r"}]>]>}
  // CHECK-NEXT: return %[[B]]
  %0 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@line, [{"r"}]>]>} %x : tensor<4xf32>
  %1 = sdy.data_flow_edge %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func @families_are_written_apart
func.func @families_are_written_apart(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[M:.*]] = sdy.manual_computation(%{{.*}}) in_shardings=[<@grid, [{"r"}, {"c"}]>] out_shardings=[<@grid, [{"r"}, {?}]>] manual_axes={"r"} (%[[Y:.*]]: tensor<6x8xf32>) {
  // CHECK-NEXT:   stablehlo.negate %[[Y]]
  // CHECK-NEXT:   sdy.return
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[M]]
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"r"}, {?}]>] out_shardings=[<@grid, [{"r"}, {?}]>] manual_axes={"r"} (%y: tensor<6x8xf32>) {
    %1 = sdy.data_flow_edge %y sharding=<@grid, [{}, {"c"}]> : tensor<6x8xf32>
    %2 = stablehlo.negate %1 : tensor<6x8xf32>
    sdy.return %2 : tensor<6x8xf32>
  } : (tensor<12x8xf32>) -> tensor<12x8xf32>
  %3 = sdy.data_flow_edge %0 : tensor<12x8xf32>
  return %3 : tensor<12x8xf32>
}

// CHECK-LABEL: func @keeps_sharding_without_edge
func.func @keeps_sharding_without_edge(%x: tensor<8xf32>, %y: tensor<?xf32>) -> (tensor<8xf32>, tensor<?xf32>) {
  // CHECK-NEXT: out_shardings=[<@grid, [{"r"}]>, <@grid, [{"r"}]>]
  // DEBUG-LABEL: func @keeps_sharding_without_edge
  // DEBUG-NEXT: sdy.manual_computation
  // DEBUG-SAME: out_shardings=[<@grid, [{"r"}]>, <@grid, [{"r"}]>]
  %0:2 = sdy.manual_computation(%x, %y) in_shardings=[<@grid, [{"r"}]>, <@grid, [{"r"}]>] out_shardings=[<@grid, [{"r"}]>, <@grid, [{"r"}]>] manual_axes={"r"} (%a: tensor<4xf32>, %b: tensor<?xf32>) {
    sdy.return %a, %b : tensor<4xf32>, tensor<?xf32>
  } : (tensor<8xf32>, tensor<?xf32>) -> (tensor<8xf32>, tensor<?xf32>)
  %1 = sdy.data_flow_edge %0#0 sharding=<@grid, [{"r"}]> : tensor<8xf32>
  return %1, %0#1 : tensor<8xf32>, tensor<?xf32>
}

// CHECK-LABEL: func @edges_of_one_of_two
func.func @edges_of_one_of_two(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[B:.*]]:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}]>, <@grid, [{?}]>]>}
  // CHECK-NEXT: return %[[B]]#0, %[[B]]#1
  // DEBUG-LABEL: func @edges_of_one_of_two
  // DEBUG-NEXT: sdy.result_propagation_edges = [#sdy.propagation_edges<[{step-0 = [{"r" = operand-0 -> [result-0]}]}]>, {}]
  %0:2 = stablehlo.optimization_barrier %x, %x : tensor<8xf32>, tensor<8xf32>
  %1 = sdy.data_flow_edge %0#0 sharding=<@grid, [{"r"}]> {sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"r" = operand-0 -> [result-0]}]}]>} : tensor<8xf32>
  %2 = sdy.data_flow_edge %0#1 : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
