// RUN: mpmd-opt %s -sdy-user-priority-propagate -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @members_start_alike
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @members_start_alike(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {}]>}, %b: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.sine %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: sdy.sharding_group %[[ARG0]] group_id=0
  // CHECK-NEXT: sdy.sharding_group %[[ARG1]] group_id=0
  // CHECK-NEXT: return %[[V0]], %[[V1]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  %1 = stablehlo.sine %b : tensor<12x8xf32>
  sdy.sharding_group %a group_id=0 : tensor<12x8xf32>
  sdy.sharding_group %b group_id=0 : tensor<12x8xf32>
  return %0, %1 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @members_change_together
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
func.func @members_change_together(%a: tensor<12x8xf32>, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>}) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.sine %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: sdy.sharding_group %[[V0]] group_id=0
  // CHECK-NEXT: sdy.sharding_group %[[V1]] group_id=0
  // CHECK-NEXT: return %[[V0]], %[[V1]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  %1 = stablehlo.sine %b : tensor<12x8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<12x8xf32>
  sdy.sharding_group %1 group_id=0 : tensor<12x8xf32>
  return %0, %1 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @barrier_does_not_separate_members
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @barrier_does_not_separate_members(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = sdy.propagation_barrier %[[ARG0]] allowed_direction=NONE {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.negate %[[V0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: sdy.sharding_group %[[ARG0]] group_id=0
  // CHECK-NEXT: sdy.sharding_group %[[V1]] group_id=0
  // CHECK-NEXT: return %[[V1]]
  %0 = sdy.propagation_barrier %a allowed_direction=NONE : tensor<12x8xf32>
  %1 = stablehlo.negate %0 : tensor<12x8xf32>
  sdy.sharding_group %a group_id=0 : tensor<12x8xf32>
  sdy.sharding_group %1 group_id=0 : tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// The group then consists of open constraints after its members.
// CHECK-LABEL: func @members_that_disagree_get_constraints
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>},
// CHECK-SAME: %[[ARG2:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>})
func.func @members_that_disagree_get_constraints(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>}, %d: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = sdy.sharding_constraint %[[ARG2]] <@grid, [{?}, {"r", ?}]>
  // CHECK-NEXT: %[[V1:.*]] = sdy.sharding_constraint %[[ARG1]] <@grid, [{?}, {"r", ?}]>
  // CHECK-NEXT: %[[V2:.*]] = sdy.sharding_constraint %[[ARG0]] <@grid, [{?}, {"r", ?}]>
  // CHECK-NEXT: %[[V3:.*]] = stablehlo.negate %[[V2]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"r", ?}]>]>}
  // CHECK-NEXT: %[[V4:.*]] = stablehlo.sine %[[V1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"r", ?}]>]>}
  // CHECK-NEXT: %[[V5:.*]] = stablehlo.cosine %[[V0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"r", ?}]>]>}
  // CHECK-NEXT: sdy.sharding_group %[[V2]] group_id=0
  // CHECK-NEXT: sdy.sharding_group %[[V1]] group_id=0
  // CHECK-NEXT: sdy.sharding_group %[[V0]] group_id=0
  // CHECK-NEXT: return %[[V3]], %[[V4]], %[[V5]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  %1 = stablehlo.sine %b : tensor<12x8xf32>
  %2 = stablehlo.cosine %d : tensor<12x8xf32>
  sdy.sharding_group %a group_id=0 : tensor<12x8xf32>
  sdy.sharding_group %b group_id=0 : tensor<12x8xf32>
  sdy.sharding_group %d group_id=0 : tensor<12x8xf32>
  return %0, %1, %2 : tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @group_of_one_changes_nothing
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @group_of_one_changes_nothing(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: sdy.sharding_group %[[V0]] group_id=0
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @open_member_says_nothing
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @open_member_says_nothing(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {?}], replicated={"c"}>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.sine %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: sdy.sharding_group %[[ARG0]] group_id=0
  // CHECK-NEXT: sdy.sharding_group %[[ARG1]] group_id=0
  // CHECK-NEXT: return %[[V0]], %[[V1]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  %1 = stablehlo.sine %b : tensor<12x8xf32>
  sdy.sharding_group %a group_id=0 : tensor<12x8xf32>
  sdy.sharding_group %b group_id=0 : tensor<12x8xf32>
  return %0, %1 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

// Where axes are manual, or in a module of other meshes, values cannot be as the
// members outside.
sdy.mesh @grid = <["r"=2, "c"=4]>
// CHECK-LABEL: func @main
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}]>}) -> tensor<8xf32> {
  sdy.sharding_group %x group_id=0 : tensor<8xf32>
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{}], replicated={"r"}>] out_shardings=[<@grid, [{}], replicated={"r"}>] manual_axes={"r"} (%a: tensor<8xf32>) {
    // CHECK: stablehlo.negate %{{[^ ]*}} : tensor<8xf32>
    %1 = stablehlo.negate %a : tensor<8xf32>
    sdy.sharding_group %1 group_id=0 : tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
module @apart {
  // CHECK: func.func @main(%{{[^ ]*}}: tensor<8xf32>)
  func.func @main(%x: tensor<8xf32>) {
    sdy.sharding_group %x group_id=0 : tensor<8xf32>
    return
  }
}
