// RUN: mpmd-opt %s -sdy-user-priority-propagate -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// r and a half of c split i, the rest of c splits j and more.
// CHECK-LABEL: func @axes_of_a_dimension_divide_among_factors
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c", ?}]>})
// CHECK-SAME: -> (tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c":(1)2, ?}, {"c":(2)2, ?}]>})
func.func @axes_of_a_dimension_divide_among_factors(%a0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c", ?}]>}) -> tensor<4x2xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.custom_call @sdy_testonly(%[[ARG0]]) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", "c":(1)2, ?}, {"c":(2)2, ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([ij])->([i, j]) {i=4, j=2}, custom>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.custom_call @sdy_testonly(%a0) {sdy.sharding_rule = #sdy.op_sharding_rule<([ij])->([i, j]) {i=4, j=2}, custom>} : (tensor<8xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @sub_axes_merge_where_factors_meet
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c":(1)2, ?}, {"c":(2)2, ?}]>})
// CHECK-SAME: -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c", ?}]>})
func.func @sub_axes_merge_where_factors_meet(%a0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c":(1)2, ?}, {"c":(2)2, ?}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.custom_call @sdy_testonly(%[[ARG0]]) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", "c", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([ij]) {i=4, j=2}, custom>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.custom_call @sdy_testonly(%a0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([ij]) {i=4, j=2}, custom>} : (tensor<4x2xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @minor_factor_takes_what_does_not_divide_it
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<6xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}]>})
// CHECK-SAME: -> (tensor<6xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}]>})
func.func @minor_factor_takes_what_does_not_divide_it(%a0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}]>}) -> tensor<6xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.custom_call @sdy_testonly(%[[ARG0]]) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=6}, custom>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.custom_call @sdy_testonly(%a0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=6}, custom>} : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// c and 3 have nothing in common, so nothing is known of i.
// CHECK-LABEL: func @axis_that_does_not_divide_a_major_factor_overflows
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<6xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}]>})
// CHECK-SAME: -> tensor<3x2xf32>
func.func @axis_that_does_not_divide_a_major_factor_overflows(%a0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}]>}) -> tensor<3x2xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.custom_call @sdy_testonly(%[[ARG0]]) {sdy.sharding_rule = #sdy.op_sharding_rule<([ij])->([i, j]) {i=3, j=2}, custom>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.custom_call @sdy_testonly(%a0) {sdy.sharding_rule = #sdy.op_sharding_rule<([ij])->([i, j]) {i=3, j=2}, custom>} : (tensor<6xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @major_factor_takes_the_common_divisor
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<6x2xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(1)2, ?}]>})
func.func @major_factor_takes_the_common_divisor(%a0: tensor<6x2xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}) -> tensor<12xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.custom_call @sdy_testonly(%[[ARG0]]) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c":(1)2, ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([ij]) {i=6, j=2}, custom>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.custom_call @sdy_testonly(%a0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([ij]) {i=6, j=2}, custom>} : (tensor<6x2xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// In the result r would split i.
// CHECK-LABEL: func @minor_factor_waits_for_the_major_one
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>})
// CHECK-SAME: -> tensor<8xf32>
func.func @minor_factor_waits_for_the_major_one(%a0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.custom_call @sdy_testonly(%[[ARG0]]) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([ij]) {i=4, j=2}, custom>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.custom_call @sdy_testonly(%a0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([ij]) {i=4, j=2}, custom>} : (tensor<4x2xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @blocked_factor_does_not_propagate
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
func.func @blocked_factor_does_not_propagate(%a0: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.custom_call @sdy_testonly(%[[ARG0]]) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=12, j=8} blocked_propagation={i}, custom>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.custom_call @sdy_testonly(%a0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=12, j=8} blocked_propagation={i}, custom>} : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @factor_that_needs_replication_propagates_at_last
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>})
func.func @factor_that_needs_replication_propagates_at_last(%a0: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.custom_call @sdy_testonly(%[[ARG0]]) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {"c", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=12, j=8} need_replication={i}, custom>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.custom_call @sdy_testonly(%a0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=12, j=8} need_replication={i}, custom>} : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @reduction_factor_propagates_among_operands
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
// CHECK-SAME: -> tensor<12x4xf32>
func.func @reduction_factor_propagates_among_operands(%a0: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>}, %a1: tensor<8x4xf32>) -> tensor<12x4xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.custom_call @sdy_testonly(%[[ARG0]], %[[ARG1]]) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=12, j=4, k=8} reduction={k}, custom>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.custom_call @sdy_testonly(%a0, %a1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=12, j=4, k=8} reduction={k}, custom>} : (tensor<12x8xf32>, tensor<8x4xf32>) -> tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}
