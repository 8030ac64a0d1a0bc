// RUN: mpmd-opt %s -sdy-apply-sharding-constraints | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @closed_constraint_shards_its_input
// CHECK-SAME: (%[[X:.*]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>})
func.func @closed_constraint_shards_its_input(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: sdy.sharding_constraint %[[X]] <@grid, [{"r"}, {}]>
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[X]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}, {"c"}]>]>}
  // CHECK-NEXT: %[[C:.*]] = sdy.sharding_constraint %[[S]]
  // CHECK-NEXT: return %[[C]]
  %0 = sdy.sharding_constraint %x <@grid, [{"r"}, {}]> : tensor<12x8xf32>
  %1 = stablehlo.sine %x : tensor<12x8xf32>
  %2 = sdy.sharding_constraint %1 <@grid, [{}, {"c"}]> : tensor<12x8xf32>
  return %2 : tensor<12x8xf32>
}

// CHECK-LABEL: func @open_constraint_does_not
// CHECK-SAME: (%[[X:.*]]: tensor<12x8xf32>)
func.func @open_constraint_does_not(%x: tensor<12x8xf32>) {
  %0 = sdy.sharding_constraint %x <@grid, [{"r"}, {?}]> : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @existing_sharding_stays
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@grid, [{?}, {?}]>}
func.func @existing_sharding_stays(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {?}]>}) {
  %0 = sdy.sharding_constraint %x <@grid, [{"r"}, {}]> : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @different_constraints_cancel
// CHECK-SAME: (%[[X:.*]]: tensor<12x8xf32>)
func.func @different_constraints_cancel(%x: tensor<12x8xf32>) {
  %0 = sdy.sharding_constraint %x <@grid, [{"r"}, {}]> : tensor<12x8xf32>
  %1 = sdy.sharding_constraint %x <@grid, [{}, {}]> : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @manual_computation_shards_its_operand
// CHECK-SAME: (%[[X:.*]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>})
func.func @manual_computation_shards_its_operand(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"r"}, {}]>] out_shardings=[<@grid, [{"r"}, {}]>] manual_axes={"r"} (%y: tensor<6x8xf32>) {
    sdy.return %y : tensor<6x8xf32>
  } : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// CHECK-LABEL: func @constraint_moves_after_edge
// CHECK-SAME: (%[[X:.*]]: tensor<12x8xf32>)
func.func @constraint_moves_after_edge(%x: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[B:.*]] = stablehlo.optimization_barrier %[[X]]
  // CHECK-NEXT: %[[E:.*]] = sdy.data_flow_edge %[[B]] sharding=<@grid, [{?}, {?}], unreduced={"c"}>
  // CHECK-NEXT: %[[C:.*]] = sdy.sharding_constraint %[[E]] <@grid, [{"r"}, {}], unreduced={"c"}>
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[C]]
  // CHECK-NEXT: return %[[S]], %[[C]]
  %0 = stablehlo.optimization_barrier %x : tensor<12x8xf32>
  %1 = sdy.data_flow_edge %0 : tensor<12x8xf32>
  %2 = stablehlo.sine %1 : tensor<12x8xf32>
  %3 = sdy.sharding_constraint %1 <@grid, [{"r"}, {}], unreduced={"c"}> : tensor<12x8xf32>
  return %2, %3 : tensor<12x8xf32>, tensor<12x8xf32>
}

// CHECK-LABEL: func @manual_computation_after_edge_gets_constraint
func.func @manual_computation_after_edge_gets_constraint(%x: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK: %[[E:.*]] = sdy.data_flow_edge %{{.*}} : tensor<12x8xf32>
  // CHECK-NEXT: %[[C:.*]] = sdy.sharding_constraint %[[E]] <@grid, [{"r"}, {}]>
  // CHECK-NEXT: stablehlo.sine %[[C]]
  // CHECK-NEXT: sdy.manual_computation(%[[C]])
  %0 = stablehlo.optimization_barrier %x : tensor<12x8xf32>
  %1 = sdy.data_flow_edge %0 : tensor<12x8xf32>
  %2 = stablehlo.sine %1 : tensor<12x8xf32>
  %3 = sdy.manual_computation(%1) in_shardings=[<@grid, [{"r"}, {}]>] out_shardings=[<@grid, [{"r"}, {}]>] manual_axes={"r"} (%y: tensor<6x8xf32>) {
    sdy.return %y : tensor<6x8xf32>
  } : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return %2, %3 : tensor<12x8xf32>, tensor<12x8xf32>
}

// CHECK-LABEL: func @uses_after_chain_read_its_end
// CHECK-SAME: (%[[X:.*]]: tensor<12x8xf32>
func.func @uses_after_chain_read_its_end(%x: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[BEFORE:.*]] = stablehlo.sine %[[X]]
  // CHECK-NEXT: %[[C0:.*]] = sdy.sharding_constraint %[[X]] <@grid, [{"r"}, {?}]>
  // CHECK-NEXT: %[[C1:.*]] = sdy.sharding_constraint %[[C0]] <@grid, [{?}, {"c"}]>
  // CHECK-NEXT: %[[AFTER:.*]] = stablehlo.cosine %[[C1]]
  // CHECK-NEXT: return %[[X]], %[[BEFORE]], %[[AFTER]]
  %0 = stablehlo.sine %x : tensor<12x8xf32>
  %1 = sdy.sharding_constraint %x <@grid, [{"r"}, {?}]> : tensor<12x8xf32>
  %2 = sdy.sharding_constraint %1 <@grid, [{?}, {"c"}]> : tensor<12x8xf32>
  %3 = stablehlo.cosine %x : tensor<12x8xf32>
  return %x, %0, %3 : tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>
}

sdy.mesh @one_device = <[], device_ids=[0]>

// CHECK-LABEL: func @one_device_for_one_of_two
func.func @one_device_for_one_of_two(%x: tensor<12x8xf32>) {
  // CHECK-NEXT: stablehlo.custom_call @f(%{{.*}}) {sdy.sharding = #sdy.sharding_per_value<[<@one_device, []>, <@one_device, []>]>}
  %0:2 = stablehlo.custom_call @f(%x) : (tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12xf32>)
  %1 = sdy.sharding_constraint %0#0 <@one_device, []> : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @not_beside_a_collective
func.func @not_beside_a_collective(%x: tensor<12x8xf32>) {
  // CHECK-NEXT: stablehlo.sine %{{[^ ]*}} : tensor<12x8xf32>
  %0 = stablehlo.sine %x : tensor<12x8xf32>
  %1 = sdy.sharding_constraint %0 <@grid, [{"r"}, {}]> : tensor<12x8xf32>
  %2 = sdy.all_slice [{"c"}, {}] %0 out_sharding=<@grid, [{"c"}, {}]> : tensor<12x8xf32>
  return
}

// CHECK-LABEL: module @of_each_other
module @of_each_other {
  sdy.mesh @grid = <["r"=2]>
  // CHECK-COUNT-2: sdy.sharding_constraint
  %0 = sdy.sharding_constraint %1 <@grid, [{}]> : tensor<8xf32>
  %1 = sdy.sharding_constraint %0 <@grid, [{}]> : tensor<8xf32>
}
