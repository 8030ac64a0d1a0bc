// RUN: mpmd-opt %s -sdy-user-priority-propagate -split-input-file | FileCheck %s

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @fragment_edges_propagate_both_ways
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
// CHECK-SAME: -> (!mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
func.func @fragment_edges_propagate_both_ways(%a: !pa {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: !pa) -> (!pa, !pa {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>}) attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]]:2 = mpmd.fragment<mesh="pa", origin=[]> (%[[ARG0]], %[[ARG1]]) (%[[ARG2:arg[0-9]+]]: tensor<12x8xf32>, %[[ARG3:arg[0-9]+]]: tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V3:.*]] = sdy.data_flow_edge %[[ARG2]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: %[[V4:.*]] = sdy.data_flow_edge %[[ARG3]] sharding=<@grid, [{?}, {"c", ?}]>
  // CHECK-NEXT: %[[V5:.*]] = stablehlo.negate %[[V3]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V6:.*]] = stablehlo.sine %[[V4]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: mpmd.return %[[V5]], %[[V6]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V1:.*]] = sdy.data_flow_edge %[[V0]]#0 sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: %[[V2:.*]] = sdy.data_flow_edge %[[V0]]#1 sharding=<@grid, [{?}, {"c", ?}]>
  // CHECK-NEXT: return %[[V1]], %[[V2]]
  %0:2 = mpmd.fragment<mesh="pa", origin=[]> (%a, %b) (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>) {
    %3 = sdy.data_flow_edge %x : tensor<12x8xf32>
    %4 = sdy.data_flow_edge %y : tensor<12x8xf32>
    %5 = stablehlo.negate %3 : tensor<12x8xf32>
    %6 = stablehlo.sine %4 : tensor<12x8xf32>
    mpmd.return %5, %6 : tensor<12x8xf32>, tensor<12x8xf32>
  } : (!pa, !pa) -> (!pa, !pa)
  %1 = sdy.data_flow_edge %0#0 : !pa
  %2 = sdy.data_flow_edge %0#1 : !pa
  return %1, %2 : !pa, !pa
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @transfer_between_equal_meshes_propagates
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
// CHECK-SAME: -> (!mpmd.mesh_tensor<"pb", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, !mpmd.mesh_tensor<"pb", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
func.func @transfer_between_equal_meshes_propagates(%a: !pa {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: !pa) -> (!pb, !pb {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>}) attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>} %[[ARG0]]
  // CHECK-NEXT: %[[V1:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>} %[[ARG1]]
  // CHECK-NEXT: return %[[V0]], %[[V1]]
  %0 = mpmd.transfer %a : (!pa) -> !pb
  %1 = mpmd.transfer %b : (!pa) -> !pb
  return %0, %1 : !pb, !pb
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=4, "c"=2]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @transfer_between_different_meshes_blocks
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
func.func @transfer_between_different_meshes_blocks(%a: !pa {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> !pb attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]] = mpmd.transfer %[[ARG0]]
  // CHECK-NEXT: return %[[V0]]
  %0 = mpmd.transfer %a : (!pa) -> !pb
  return %0 : !pb
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @loop_values_are_split_alike
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (!mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @loop_values_are_split_alike(%a: !pa {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: !pa) -> (!pa, !pa) attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]]:2 = mpmd.for (%[[ARG0]], %[[ARG1]]) {iterations = 3 : ui32, unroll_factor = 3 : ui32} (%[[ARG2:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>, %[[ARG3:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>, %[[INDEX:.*]]: tensor<ui32>) {
  // CHECK-NEXT: %[[V3:.*]] = mpmd.fragment<mesh="pa", origin=[]> (%[[ARG2]], %[[ARG3]]) (%[[ARG4:arg[0-9]+]]: tensor<12x8xf32>, %[[ARG5:arg[0-9]+]]: tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V5:.*]] = sdy.data_flow_edge %[[ARG4]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: %[[V6:.*]] = sdy.data_flow_edge %[[ARG5]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: %[[V7:.*]] = stablehlo.add %[[V5]], %[[V6]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: mpmd.return %[[V7]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V4:.*]] = sdy.data_flow_edge %[[V3]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: mpmd.return %[[ARG2]], %[[V4]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V1:.*]] = sdy.data_flow_edge %[[V0]]#0 sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: %[[V2:.*]] = sdy.data_flow_edge %[[V0]]#1 sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: return %[[V1]], %[[V2]]
  %0:2 = mpmd.for (%a, %b) {iterations = 3 : ui32, unroll_factor = 3 : ui32} (%x: !pa, %y: !pa, %i: tensor<ui32>) {
    %3 = mpmd.fragment<mesh="pa", origin=[]> (%x, %y) (%p: tensor<12x8xf32>, %q: tensor<12x8xf32>) {
      %5 = sdy.data_flow_edge %p : tensor<12x8xf32>
      %6 = sdy.data_flow_edge %q : tensor<12x8xf32>
      %7 = stablehlo.add %5, %6 : tensor<12x8xf32>
      mpmd.return %7 : tensor<12x8xf32>
    } : (!pa, !pa) -> !pa
    %4 = sdy.data_flow_edge %3 : !pa
    mpmd.return %x, %4 : !pa, !pa
  } : !pa, !pa
  %1 = sdy.data_flow_edge %0#0 : !pa
  %2 = sdy.data_flow_edge %0#1 : !pa
  return %1, %2 : !pa, !pa
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @while_propagates_through_condition_and_body
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<i32>)
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @while_propagates_through_condition_and_body(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %n: tensor<i32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]]:2 = stablehlo.while(%[[ITERARG:.*]] = %[[ARG1]], %[[ITERARG_0:.*]] = %[[ARG0]])
  // CHECK-NEXT: cond {
  // CHECK-NEXT: %[[V3:.*]] = stablehlo.compare LT, %[[ITERARG]], %[[ARG1]]
  // CHECK-NEXT: stablehlo.return %[[V3]]
  // CHECK-NEXT: } do {
  // CHECK-NEXT: %[[V3]] = stablehlo.sine %[[ITERARG_0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: stablehlo.return %[[ITERARG]], %[[V3]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V1:.*]] = sdy.data_flow_edge %[[V0]]#0
  // CHECK-NEXT: %[[V2:.*]] = sdy.data_flow_edge %[[V0]]#1 sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: return %[[V2]]
  %0:2 = stablehlo.while(%i = %n, %x = %a) : tensor<i32>, tensor<12x8xf32>
  cond {
    %3 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  } do {
    %3 = stablehlo.sine %x : tensor<12x8xf32>
    stablehlo.return %i, %3 : tensor<i32>, tensor<12x8xf32>
  }
  %1 = sdy.data_flow_edge %0#0 : tensor<i32>
  %2 = sdy.data_flow_edge %0#1 : tensor<12x8xf32>
  return %2 : tensor<12x8xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @case_joins_all_branches
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG2:arg[0-9]+]]: tensor<i32>)
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @case_joins_all_branches(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32>, %n: tensor<i32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = "stablehlo.case"(%[[ARG2]]) ({
  // CHECK-NEXT: stablehlo.return %[[ARG0]]
  // CHECK-NEXT: }, {
  // CHECK-NEXT: stablehlo.return %[[ARG1]]
  // CHECK-NEXT: })
  // CHECK-NEXT: %[[V1:.*]] = sdy.data_flow_edge %[[V0]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: return %[[V1]]
  %0 = "stablehlo.case"(%n) ({
    stablehlo.return %a : tensor<12x8xf32>
  }, {
    stablehlo.return %b : tensor<12x8xf32>
  }) : (tensor<i32>) -> tensor<12x8xf32>
  %1 = sdy.data_flow_edge %0 : tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @optimization_barrier_passes
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @optimization_barrier_passes(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.optimization_barrier %[[ARG0]]
  // CHECK-NEXT: %[[V1:.*]] = sdy.data_flow_edge %[[V0]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: return %[[V1]]
  %0 = stablehlo.optimization_barrier %a : tensor<12x8xf32>
  %1 = sdy.data_flow_edge %0 : tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// The body does not see r.
// CHECK-LABEL: func @manual_axes_are_hidden_inside
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c", ?}]>})
func.func @manual_axes_are_hidden_inside(%a: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = sdy.manual_computation(%[[ARG0]]) in_shardings=[<@grid, [{"r", ?}, {"c", ?}]>] out_shardings=[<@grid, [{"r", ?}, {?}]>] manual_axes={"r"} (%[[ARG1:arg[0-9]+]]: tensor<6x8xf32>) {
  // CHECK-NEXT: %[[V2:.*]] = sdy.data_flow_edge %[[ARG1]] sharding=<@grid, [{?}, {"c", ?}]>
  // CHECK-NEXT: %[[V3:.*]] = stablehlo.sine %[[V2]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: sdy.return %[[V3]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V1:.*]] = sdy.data_flow_edge %[[V0]] sharding=<@grid, [{"r", ?}, {"c", ?}]>
  // CHECK-NEXT: return %[[V1]]
  %0 = sdy.manual_computation(%a) in_shardings=[<@grid, [{"r", ?}, {"c", ?}]>] out_shardings=[<@grid, [{"r", ?}, {?}]>] manual_axes={"r"} (%x: tensor<6x8xf32>) {
    %2 = sdy.data_flow_edge %x sharding=<@grid, [{?}, {"c", ?}]> : tensor<6x8xf32>
    %3 = stablehlo.sine %2 : tensor<6x8xf32>
    sdy.return %3 : tensor<6x8xf32>
  } : (tensor<12x8xf32>) -> tensor<12x8xf32>
  %1 = sdy.data_flow_edge %0 sharding=<@grid, [{"r", ?}, {?}]> : tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @named_computation_passes
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @named_computation_passes(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> tensor<12x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = sdy.named_computation<"foo">(%[[ARG0]]) (%[[ARG1:arg[0-9]+]]: tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V2:.*]] = sdy.data_flow_edge %[[ARG1]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: %[[V3:.*]] = stablehlo.sine %[[V2]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: sdy.return %[[V3]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V1:.*]] = sdy.data_flow_edge %[[V0]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: return %[[V1]]
  %0 = sdy.named_computation<"foo">(%a) (%x: tensor<12x8xf32>) {
    %2 = sdy.data_flow_edge %x : tensor<12x8xf32>
    %3 = stablehlo.sine %2 : tensor<12x8xf32>
    sdy.return %3 : tensor<12x8xf32>
  } : (tensor<12x8xf32>) -> tensor<12x8xf32>
  %1 = sdy.data_flow_edge %0 : tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// Without edge ops nothing passes; what the op says is what its body sees.
// CHECK-LABEL: func @op_without_edges_does_not_pass
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
func.func @op_without_edges_does_not_pass(%a: !pa {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> !pa attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]] = mpmd.fragment<mesh="pa", origin=[], in_shardings=[<@grid, [{?}, {"c", ?}]>]> (%[[ARG0]]) (%[[ARG1:arg[0-9]+]]: tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.negate %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>}
  // CHECK-NEXT: mpmd.return %[[V1]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[V0]]
  %0 = mpmd.fragment<mesh="pa", origin=[], in_shardings=[<@grid, [{?}, {"c", ?}]>]> (%a) (%x: tensor<12x8xf32>) {
    %1 = stablehlo.negate %x : tensor<12x8xf32>
    mpmd.return %1 : tensor<12x8xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}
