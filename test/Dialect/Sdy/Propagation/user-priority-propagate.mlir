// RUN: mpmd-opt %s -sdy-user-priority-propagate -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @propagates_forward_and_backward
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @propagates_forward_and_backward(%a: tensor<12x8xf32>, %b: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.sine %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.add %[[V0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.negate %[[V1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V2]]
  %0 = stablehlo.sine %a : tensor<12x8xf32>
  %1 = stablehlo.add %0, %b {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>} : tensor<12x8xf32>
  %2 = stablehlo.negate %1 : tensor<12x8xf32>
  return %2 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// Both operands offer r for another dimension of the result; the larger one
// decides.
// CHECK-LABEL: func @larger_source_wins_between_factors
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>})
// CHECK-SAME: -> (tensor<12x64xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>})
func.func @larger_source_wins_between_factors(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>}) -> tensor<12x64xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.dot_general %[[ARG0]], %[[ARG1]], contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"r", ?}]>]>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<12x8xf32>, tensor<8x64xf32>) -> tensor<12x64xf32>
  return %0 : tensor<12x64xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @nothing_propagates_from_a_conflict_in_a_factor
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
// CHECK-SAME: -> tensor<12x8xf32>
func.func @nothing_propagates_from_a_conflict_in_a_factor(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]]
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// Up to the axis where they differ, the operands agree.
// CHECK-LABEL: func @what_comes_before_a_conflict_propagates
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c":(1)2, ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c":(2)2, ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @what_comes_before_a_conflict_propagates(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c":(1)2, ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c":(2)2, ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @longer_prefix_propagates
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", "r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", "r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", "r", ?}, {?}]>})
func.func @longer_prefix_propagates(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(1)2, ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", "r", ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", "r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @closed_dimension_is_not_split
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @closed_dimension_is_not_split(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.sine %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.add %[[V1]], %[[V0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V2]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  %1 = stablehlo.sine %b : tensor<12x8xf32>
  %2 = stablehlo.add %1, %0 : tensor<12x8xf32>
  return %2 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// A closed dimension would hold up the basic strategy for all tensors of the op;
// the aggressive one passes by.
// CHECK-LABEL: func @aggressive_strategy_passes_closed_operand
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @aggressive_strategy_passes_closed_operand(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @replicated_axes_block_in_open_dimensions
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}], replicated={"c"}>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c", ?}, {?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c", ?}, {?}]>})
func.func @replicated_axes_block_in_open_dimensions(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c", ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {?}], replicated={"c"}>}) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", "c", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.maximum %[[ARG1]], %[[V0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", "c", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]], %[[V1]]
  %0 = stablehlo.add %a, %a : tensor<12x8xf32>
  %1 = stablehlo.maximum %b, %0 : tensor<12x8xf32>
  return %0, %1 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @unreduced_axes_block_and_stay
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @unreduced_axes_block_and_stay(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}], unreduced={"c"}>]>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {?}], unreduced={"c"}>]>} : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @annotation_without_axes_is_not_copied
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {?}], replicated={"r"}>})
// CHECK-SAME: -> tensor<12x8xf32>
func.func @annotation_without_axes_is_not_copied(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {?}], replicated={"r"}>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]]
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.sine %[[V0]]
  // CHECK-NEXT: return %[[V1]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  %1 = stablehlo.sine %0 : tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @axis_used_by_another_dimension_is_not_used_twice
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @axis_used_by_another_dimension_is_not_used_twice(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>}) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.add %[[V0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]], %[[V1]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  %1 = stablehlo.add %0, %b : tensor<12x8xf32>
  return %0, %1 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @new_results_of_an_op_become_open
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32>)
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, tensor<12x8xf32>)
func.func @new_results_of_an_op_become_open(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]]:2 = stablehlo.custom_call @sdy_testonly(%[[ARG0]], %[[ARG1]]) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>, <@grid, [{?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k, l])->([i, j], [k, l]) {i=12, j=8, k=12, l=8}, custom>}
  // CHECK-NEXT: return %[[V0]]#0, %[[V0]]#1
  %0:2 = stablehlo.custom_call @sdy_testonly(%a, %b) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k, l])->([i, j], [k, l]) {i=12, j=8, k=12, l=8}, custom>} : (tensor<12x8xf32>, tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>)
  return %0#0, %0#1 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @priorities_below_others_come_later
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c"}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
func.func @priorities_below_others_come_later(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}p1, {"c"}p2]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}p3]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// Until its turn comes, an axis of lower priority is replicated.
// CHECK-LABEL: func @hidden_axes_stay_free_for_their_dimension
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>})
func.func @hidden_axes_stay_free_for_their_dimension(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}p1, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>}) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"r", ?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.add %[[V0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"r", ?}]>]>}
  // CHECK-NEXT: return %[[V0]], %[[V1]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  %1 = stablehlo.add %0, %b : tensor<12x8xf32>
  return %0, %1 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @pure_op_without_uses_propagates_nothing
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32>)
// CHECK-SAME: -> tensor<12x8xf32>
func.func @pure_op_without_uses_propagates_nothing(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: return %[[ARG1]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %b : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @barrier_lets_none_pass
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32>)
// CHECK-SAME: -> (tensor<12x8xf32>, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
func.func @barrier_lets_none_pass(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = sdy.propagation_barrier %[[ARG0]] allowed_direction=NONE
  // CHECK-NEXT: %[[V1:.*]] = sdy.propagation_barrier %[[ARG1]] allowed_direction=NONE {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.negate %[[V0]]
  // CHECK-NEXT: %[[V3:.*]] = stablehlo.negate %[[V1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: return %[[V2]], %[[V3]]
  %0 = sdy.propagation_barrier %a allowed_direction=NONE : tensor<12x8xf32>
  %1 = sdy.propagation_barrier %b allowed_direction=NONE : tensor<12x8xf32>
  %2 = stablehlo.negate %0 : tensor<12x8xf32>
  %3 = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>} : tensor<12x8xf32>
  return %2, %3 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @barrier_lets_forward_pass
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32>)
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
func.func @barrier_lets_forward_pass(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = sdy.propagation_barrier %[[ARG0]] allowed_direction=FORWARD {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = sdy.propagation_barrier %[[ARG1]] allowed_direction=FORWARD {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.negate %[[V0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V3:.*]] = stablehlo.negate %[[V1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: return %[[V2]], %[[V3]]
  %0 = sdy.propagation_barrier %a allowed_direction=FORWARD : tensor<12x8xf32>
  %1 = sdy.propagation_barrier %b allowed_direction=FORWARD : tensor<12x8xf32>
  %2 = stablehlo.negate %0 : tensor<12x8xf32>
  %3 = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>} : tensor<12x8xf32>
  return %2, %3 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @barrier_lets_backward_pass
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
// CHECK-SAME: -> (tensor<12x8xf32>, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
func.func @barrier_lets_backward_pass(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = sdy.propagation_barrier %[[ARG0]] allowed_direction=BACKWARD
  // CHECK-NEXT: %[[V1:.*]] = sdy.propagation_barrier %[[ARG1]] allowed_direction=BACKWARD {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.negate %[[V0]]
  // CHECK-NEXT: %[[V3:.*]] = stablehlo.negate %[[V1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: return %[[V2]], %[[V3]]
  %0 = sdy.propagation_barrier %a allowed_direction=BACKWARD : tensor<12x8xf32>
  %1 = sdy.propagation_barrier %b allowed_direction=BACKWARD : tensor<12x8xf32>
  %2 = stablehlo.negate %0 : tensor<12x8xf32>
  %3 = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>} : tensor<12x8xf32>
  return %2, %3 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
sdy.mesh @other = <["r"=4, "c"=2]>

// CHECK-LABEL: func @different_meshes_do_not_mix
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@other, [{?}, {?}]>})
// CHECK-SAME: -> tensor<12x8xf32>
func.func @different_meshes_do_not_mix(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@other, [{?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]]
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
sdy.mesh @other = <["r"=2, "c"=4]>

// The mesh that is named first gives its name.
// CHECK-LABEL: func @equal_meshes_mix
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@other, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@other, [{"r", ?}, {?}]>})
func.func @equal_meshes_mix(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@other, [{?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@other, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
sdy.mesh @empty = <[]>

// CHECK-LABEL: func @empty_mesh_goes_with_any
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @empty_mesh_goes_with_any(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@empty, [{?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.add %a, %b : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>
sdy.mesh @one = <[], device_ids=[3]>

// CHECK-LABEL: func @maximal_mesh_stops
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32>, tensor<f32>)
func.func @maximal_mesh_stops(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> (tensor<12x8xf32>, tensor<f32>) {
  // CHECK-NEXT: %[[V0:.*]]:2 = stablehlo.custom_call @sdy_testonly(%[[ARG0]]) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {?}]>, <@one, []>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j], []) {i=12, j=8}, custom>}
  // CHECK-NEXT: return %[[V0]]#0, %[[V0]]#1
  %0:2 = stablehlo.custom_call @sdy_testonly(%a) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {?}]>, <@one, []>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j], []) {i=12, j=8}, custom>} : (tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<12x8xf32>, tensor<f32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @erases_what_only_a_dead_region_read
// CHECK-SAME: %[[Z:arg[0-9]+]]: tensor<f32>)
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[Z]], %[[Z]] : tensor<f32>
// CHECK-NEXT: return %[[SUM]]
func.func @erases_what_only_a_dead_region_read(%i: tensor<i32>, %a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {?}]>}, %z: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.iota dim = 0 : tensor<12x8xf32>
  %1 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<12x8xf32>
  %2 = stablehlo.maximum %0, %1 : tensor<12x8xf32>
  %3 = "stablehlo.case"(%i) ({
    stablehlo.return %2 : tensor<12x8xf32>
  }, {
    stablehlo.return %a : tensor<12x8xf32>
  }) : (tensor<i32>) -> tensor<12x8xf32>
  %4 = stablehlo.add %z, %z : tensor<f32>
  return %4 : tensor<f32>
}
