// RUN: mpmd-opt %s -canonicalize | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4, "one"=1]>

// CHECK-LABEL: func @keeps_unused_constraint
func.func @keeps_unused_constraint(%x: tensor<12x8xf32>) {
  // CHECK-NEXT: sdy.sharding_constraint
  %0 = sdy.sharding_constraint %x <@grid, [{"r"}, {?}]> : tensor<12x8xf32>
  // CHECK-NEXT: return
  %1 = sdy.reshard %x <@grid, [{"r"}, {?}]> : tensor<12x8xf32>
  %2 = sdy.propagation_barrier %x allowed_direction=NONE : tensor<12x8xf32>
  return
}

// CHECK-LABEL: func @does_not_merge_constants
func.func @does_not_merge_constants() -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK-NEXT: %[[A:.*]] = sdy.constant
  // CHECK-NEXT: %[[B:.*]] = sdy.constant
  // CHECK-NEXT: return %[[A]], %[[B]]
  %0 = sdy.constant dense<0.0> : tensor<2xf32>
  %1 = sdy.constant dense<0.0> : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func @skips_reshard_that_only_a_reshard_reads
// CHECK-SAME: (%[[X:.*]]: tensor
func.func @skips_reshard_that_only_a_reshard_reads(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[R:.*]] = sdy.reshard %[[X]] <@grid, [{}, {"c"}]>
  // CHECK-NEXT: return %[[R]]
  %0 = sdy.reshard %x <@grid, [{"r"}, {}]> : tensor<12x8xf32>
  %1 = sdy.reshard %0 <@grid, [{}, {"c"}]> : tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}

// CHECK-LABEL: func @shares_equivalent_reshards
func.func @shares_equivalent_reshards(%x: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[R:.*]] = sdy.reshard %{{.*}} <@grid, [{"r"}, {}]>
  // CHECK-NEXT: return %[[R]], %[[R]]
  %0 = sdy.reshard %x <@grid, [{"r"}, {}]> : tensor<12x8xf32>
  %1 = sdy.reshard %x <@grid, [{"r", ?}, {}]> : tensor<12x8xf32>
  return %0, %1 : tensor<12x8xf32>, tensor<12x8xf32>
}

// CHECK-LABEL: func @shares_reshard_across_transpose
func.func @shares_reshard_across_transpose(%x: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<8x12xf32>) {
  // CHECK-NEXT: %[[R:.*]] = sdy.reshard %{{.*}} <@grid, [{"r"}, {}]>
  // CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %[[R]], dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}, {"r"}]>]>}
  // CHECK-NEXT: return %[[R]], %[[T]]
  %0 = sdy.reshard %x <@grid, [{"r"}, {}]> : tensor<12x8xf32>
  %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<12x8xf32>) -> tensor<8x12xf32>
  %2 = sdy.reshard %1 <@grid, [{}, {"r"}]> : tensor<8x12xf32>
  return %0, %2 : tensor<12x8xf32>, tensor<8x12xf32>
}

// CHECK-LABEL: func @drops_unused_arguments_of_manual_computation
// CHECK-SAME: (%[[X:.*]]: tensor<12xf32>, %[[Y:.*]]: tensor<8xf32>)
func.func @drops_unused_arguments_of_manual_computation(%x: tensor<12xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: sdy.manual_computation(%[[Y]]) in_shardings=[<@grid, [{"c"}]>] out_shardings=[<@grid, [{"c"}]>] manual_axes={"r", "c"} (%[[B:.*]]: tensor<2xf32>) {
  // CHECK-NEXT:   sdy.return %[[B]]
  %0 = sdy.manual_computation(%x, %y) in_shardings=[<@grid, [{"r"}]>, <@grid, [{"c"}]>] out_shardings=[<@grid, [{"c"}]>] manual_axes={"r", "c"} (%a: tensor<6xf32>, %b: tensor<2xf32>) {
    sdy.return %b : tensor<2xf32>
  } : (tensor<12xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @inlines_manual_computation_over_axes_of_size_1
// CHECK-SAME: (%[[X:.*]]: tensor<12xf32>)
func.func @inlines_manual_computation_over_axes_of_size_1(%x: tensor<12xf32>) -> tensor<12xf32> {
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[X]]
  // CHECK-NEXT: return %[[S]]
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"one"}]>] out_shardings=[<@grid, [{"one"}]>] manual_axes={"one"} (%y: tensor<12xf32>) {
    %1 = stablehlo.sine %y : tensor<12xf32>
    sdy.return %1 : tensor<12xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// CHECK-LABEL: func @erases_empty_manual_computation
func.func @erases_empty_manual_computation() {
  // CHECK-NEXT: return
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"r"} () {
    sdy.return
  } : () -> ()
  return
}

// CHECK-LABEL: func @erases_collectives_without_effect
// CHECK-SAME: (%[[X:.*]]: tensor<12xf32>
func.func @erases_collectives_without_effect(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}]>}) -> tensor<12xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = sdy.all_gather [{}] %x out_sharding=<@grid, [{"r"}]> : tensor<12xf32>
  %1 = sdy.all_slice [{}] %0 out_sharding=<@grid, [{"r"}]> : tensor<12xf32>
  %2 = sdy.collective_permute %1 out_sharding=<@grid, [{"r"}]> : tensor<12xf32>
  %3 = sdy.all_reduce {} %2 out_sharding=<@grid, [{"r"}]> : tensor<12xf32>
  %4 = sdy.reduce_scatter [{}] %3 out_sharding=<@grid, [{"r"}]> : tensor<12xf32>
  return %4 : tensor<12xf32>
}

// CHECK-LABEL: func @cancels_slice_of_gather
// CHECK-SAME: (%[[X:.*]]: tensor<12xf32>
func.func @cancels_slice_of_gather(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}]>}) -> tensor<12xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = sdy.all_gather [{"r"}] %x out_sharding=<@grid, [{}]> : tensor<12xf32>
  %1 = sdy.all_slice [{"r"}] %0 out_sharding=<@grid, [{"r"}]> : tensor<12xf32>
  return %1 : tensor<12xf32>
}

// CHECK-LABEL: func @fuses_reduce_and_slice
// CHECK-SAME: (%[[X:.*]]: tensor<12xf32>
func.func @fuses_reduce_and_slice(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}]>}) -> tensor<12xf32> {
  // CHECK-NEXT: %[[R:.*]] = sdy.reduce_scatter max [{"c"}] %[[X]] out_sharding=<@grid, [{"r", "c"}]>
  // CHECK-NEXT: return %[[R]]
  %0 = sdy.all_reduce max {"c"} %x out_sharding=<@grid, [{"r"}]> : tensor<12xf32>
  %1 = sdy.all_slice [{"c"}] %0 out_sharding=<@grid, [{"r", "c"}]> : tensor<12xf32>
  return %1 : tensor<12xf32>
}

// CHECK-LABEL: func @combines_all_to_alls
// CHECK-SAME: (%[[X:.*]]: tensor<12x8x4x4xf32>
func.func @combines_all_to_alls(%x: tensor<12x8x4x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}, {"c"}, {}]>}) -> tensor<12x8x4x4xf32> {
  // CHECK-NEXT: %[[R:.*]] = sdy.all_to_all [{"r"}: 0->1, {"c"}: 2->3] %[[X]] out_sharding=<@grid, [{}, {"r"}, {}, {"c"}]>
  // CHECK-NEXT: return %[[R]]
  %0 = sdy.all_to_all [{"c"}: 2->3] %x out_sharding=<@grid, [{"r"}, {}, {}, {"c"}]> : tensor<12x8x4x4xf32>
  %1 = sdy.all_to_all [{"r"}: 0->1] %0 out_sharding=<@grid, [{}, {"r"}, {}, {"c"}]> : tensor<12x8x4x4xf32>
  return %1 : tensor<12x8x4x4xf32>
}

// CHECK-LABEL: func @keeps_all_to_alls_that_move_the_same_dimension
func.func @keeps_all_to_alls_that_move_the_same_dimension(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {"c"}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: sdy.all_to_all [{"c"}: 1->0]
  // CHECK-NEXT: sdy.all_to_all [{"r", "c"}: 0->1]
  %0 = sdy.all_to_all [{"c"}: 1->0] %x out_sharding=<@grid, [{"r", "c"}, {}]> : tensor<12x8xf32>
  %1 = sdy.all_to_all [{"r", "c"}: 0->1] %0 out_sharding=<@grid, [{}, {"r", "c"}]> : tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}

sdy.mesh @one_device = <[], device_ids=[0]>
sdy.mesh @reversed = <["r"=2, "c"=4, "one"=1], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>

// CHECK-LABEL: func @one_device_has_no_dimensions
func.func @one_device_has_no_dimensions(%x: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<8x12xf32>) {
  // CHECK-COUNT-2: sdy.reshard
  %0 = sdy.reshard %x <@one_device, []> : tensor<12x8xf32>
  %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<12x8xf32>) -> tensor<8x12xf32>
  %2 = sdy.reshard %1 <@one_device, []> : tensor<8x12xf32>
  return %0, %2 : tensor<12x8xf32>, tensor<8x12xf32>
}

// What reads them is checked against the sharding of its operand.
// CHECK-LABEL: func @collectives_that_others_read
func.func @collectives_that_others_read(%x: tensor<12x8xf32>, %y: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>}, %z: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) -> (tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: sdy.all_slice [{}, {}]
  %0 = sdy.all_slice [{}, {}] %x out_sharding=<@grid, [{}, {}]> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.replicated_to_unreduced
  %1 = sdy.replicated_to_unreduced {"r"} %0 out_sharding=<@grid, [{}, {}], unreduced={"r"}> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.collective_permute
  %2 = sdy.collective_permute %y out_sharding=<@reversed, [{}, {}]> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.all_slice
  %3 = sdy.all_slice [{"r"}, {}] %2 out_sharding=<@reversed, [{"r"}, {}]> : tensor<12x8xf32>
  // CHECK-COUNT-2: sdy.reshard
  %4 = sdy.reshard %z <@grid, [{}, {}], replicated={"r"}> : tensor<12x8xf32>
  %5 = sdy.reshard %z <@grid, [{}, {}]> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.all_reduce
  %6 = sdy.all_reduce {"r"} %5 out_sharding=<@grid, [{}, {}]> : tensor<12x8xf32>
  return %1, %3, %4, %6 : tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>
}

// CHECK-LABEL: func @keeps_collective_in_trivial_manual_computation
func.func @keeps_collective_in_trivial_manual_computation(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: sdy.manual_computation
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"one", "r"}, {}]>] out_shardings=[<@grid, [{"one"}, {}]>] manual_axes={"one"} (%a: tensor<12x8xf32>) {
    %1 = sdy.all_gather [{"r"}, {}] %a out_sharding=<@grid, [{}, {}]> : tensor<12x8xf32>
    sdy.return %1 : tensor<12x8xf32>
  } : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// A graph region.
// CHECK-LABEL: module @reads_itself
module @reads_itself {
  // CHECK-NEXT: sdy.mesh
  sdy.mesh @grid = <["r"=2]>
  // CHECK-NEXT: %[[G:.*]] = sdy.all_gather [{}] %[[G]]
  %0 = sdy.all_gather [{}] %0 out_sharding=<@grid, [{}]> : tensor<8xf32>
  // CHECK-NEXT: sdy.sharding_constraint %[[G]]
  %1 = sdy.sharding_constraint %0 <@grid, [{}]> : tensor<8xf32>
}
