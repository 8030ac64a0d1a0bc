// RUN: mpmd-opt %s -sdy-propagation-pipeline=avoid-export-for-partitioning -split-input-file | FileCheck %s

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @annotation_reaches_fragment_and_transfer
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>})
// CHECK-SAME: -> (!mpmd.mesh_tensor<"pb", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>})
func.func @annotation_reaches_fragment_and_transfer(%a: !pa {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {?}]>}) -> !pb attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]] = mpmd.fragment<mesh="pa", origin=["enc"], in_shardings=[<@grid, [{"r"}, {}]>], out_shardings=[<@grid, [{"r"}, {}]>]> (%[[ARG0]]) (%[[ARG1:arg[0-9]+]]: tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.multiply %[[ARG1]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {}]>]>}
  // CHECK-NEXT: mpmd.return %[[V2]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V1:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {}]>]>} %[[V0]]
  // CHECK-NEXT: return %[[V1]]
  %0 = mpmd.fragment<mesh="pa", origin=["enc"]> (%a) (%x: tensor<12x8xf32>) {
    %2 = stablehlo.multiply %x, %x : tensor<12x8xf32>
    mpmd.return %2 : tensor<12x8xf32>
  } : (!pa) -> !pa
  %1 = mpmd.transfer %0 : (!pa) -> !pb
  return %1 : !pb
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4x5xf32>>
#topo = #mpmd.topology<<"pa" : <["x"=6]>>>
sdy.mesh @grid = <["x"=6]>

// 6 does not divide 4: values that cross a border keep half of x. The open result
// keeps nothing, sub-axes are not for signatures.
// CHECK-LABEL: func @axes_that_do_not_divide_are_cut_at_borders
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<4x5xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"x":(1)2}, {}]>})
// CHECK-SAME: -> (!mpmd.mesh_tensor<"pa", tensor<4x5xf32>> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>})
func.func @axes_that_do_not_divide_are_cut_at_borders(%a: !pa {sdy.sharding = #sdy.sharding<@grid, [{"x"}, {}]>}) -> !pa attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]] = mpmd.fragment<mesh="pa", origin=[], in_shardings=[<@grid, [{"x":(1)2}, {}]>], out_shardings=[<@grid, [{"x":(1)2}, {}]>]> (%[[ARG0]]) (%[[ARG1:arg[0-9]+]]: tensor<4x5xf32>) {
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.multiply %[[ARG1]], %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"x"}, {}]>]>}
  // CHECK-NEXT: mpmd.return %[[V2]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V1:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"x":(1)2}, {}]>]>} %[[V0]]
  // CHECK-NEXT: return %[[V1]]
  %0 = mpmd.fragment<mesh="pa", origin=[]> (%a) (%x: tensor<4x5xf32>) {
    %2 = stablehlo.multiply %x, %x : tensor<4x5xf32>
    mpmd.return %2 : tensor<4x5xf32>
  } : (!pa) -> !pa
  %1 = mpmd.transfer %0 : (!pa) -> !pa
  return %1 : !pa
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @replicated_annotation_closes_only_itself
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>})
// CHECK-SAME: -> tensor<12x8xf32>
func.func @replicated_annotation_closes_only_itself(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {?}], replicated={"r"}>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.negate %[[ARG0]]
  // CHECK-NEXT: return %[[V0]]
  %0 = stablehlo.negate %a : tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @groups_and_constraints_stay
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {"c"}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {"c"}]>})
func.func @groups_and_constraints_stay(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = sdy.sharding_constraint %[[ARG0]] <@grid, [{"r"}, {"c"}]>
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.negate %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {"c"}]>]>}
  // CHECK-NEXT: sdy.sharding_group %[[V1]] group_id=0
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.add %[[V0]], %[[V1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {"c"}]>]>}
  // CHECK-NEXT: return %[[V2]]
  %0 = sdy.sharding_constraint %a <@grid, [{?}, {"c"}]> : tensor<12x8xf32>
  %1 = stablehlo.negate %a : tensor<12x8xf32>
  sdy.sharding_group %1 group_id=3 : tensor<12x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<12x8xf32>
  return %2 : tensor<12x8xf32>
}
