// RUN: mpmd-opt %s -sdy-import-pipeline -sdy-apply-sharding-constraints -sdy-sharding-group-import -sdy-user-priority-propagate -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @constraint_reaches_argument_and_group
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>})
// CHECK-SAME: -> (tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {"r", ?}]>})
func.func @constraint_reaches_argument_and_group(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>}, %b: tensor<12x8xf32>) -> tensor<8x12xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.transpose %[[ARG0]], dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c"}, {"r"}]>]>}
  // CHECK-NEXT: sdy.sharding_group %[[ARG1]] group_id=0
  // CHECK-NEXT: sdy.sharding_group %[[ARG0]] group_id=0
  // CHECK-NEXT: %[[V1:.*]] = sdy.sharding_constraint %[[V0]] <@grid, [{"c"}, {"r"}]>
  // CHECK-NEXT: return %[[V1]]
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<12x8xf32>) -> tensor<8x12xf32>
  sdy.sharding_group %b group_id=7 : tensor<12x8xf32>
  sdy.sharding_group %a group_id=7 : tensor<12x8xf32>
  %1 = sdy.sharding_constraint %0 <@grid, [{"c"}, {"r"}]> : tensor<8x12xf32>
  return %1 : tensor<8x12xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// Argument and constraint both stay; what reads the argument follows the constraint.
// CHECK-LABEL: func @constraint_moves_after_the_edge
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>})
// CHECK-SAME: -> (!mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>})
func.func @constraint_moves_after_the_edge(%a: !pa {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) -> !pa attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]] = mpmd.fragment<mesh="pa", origin=[]> (%[[ARG0]]) (%[[ARG1:arg[0-9]+]]: tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V2:.*]] = sdy.data_flow_edge %[[ARG1]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: %[[V3:.*]] = sdy.sharding_constraint %[[V2]] <@grid, [{}, {"r"}]>
  // CHECK-NEXT: %[[V4:.*]] = stablehlo.sine %[[V3]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"r", ?}]>]>}
  // CHECK-NEXT: %[[V5:.*]] = stablehlo.add %[[V4]], %[[V3]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"r", ?}]>]>}
  // CHECK-NEXT: mpmd.return %[[V5]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V1:.*]] = sdy.data_flow_edge %[[V0]] sharding=<@grid, [{?}, {"r", ?}]>
  // CHECK-NEXT: return %[[V1]]
  %0 = mpmd.fragment<mesh="pa", origin=[]> (%a) (%x: tensor<12x8xf32>) {
    %1 = stablehlo.sine %x : tensor<12x8xf32>
    %2 = sdy.sharding_constraint %x <@grid, [{}, {"r"}]> : tensor<12x8xf32>
    %3 = stablehlo.add %1, %2 : tensor<12x8xf32>
    mpmd.return %3 : tensor<12x8xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// Each use of a constant is split on its own.
// CHECK-LABEL: func @constants_are_split_for_each_use
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
func.func @constants_are_split_for_each_use(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>} dense<1.000000e+00>
  // CHECK-NEXT: %[[V1:.*]] = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>} dense<1.000000e+00>
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.add %[[ARG0]], %[[V0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V3:.*]] = stablehlo.add %[[ARG1]], %[[V1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V2]], %[[V3]]
  %c = stablehlo.constant dense<1.0> : tensor<12x8xf32>
  %0 = stablehlo.add %a, %c : tensor<12x8xf32>
  %1 = stablehlo.add %b, %c : tensor<12x8xf32>
  return %0, %1 : tensor<12x8xf32>, tensor<12x8xf32>
}
