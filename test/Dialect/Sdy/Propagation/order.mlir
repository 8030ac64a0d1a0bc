// RUN: mpmd-opt %s -sdy-user-priority-propagate -split-input-file | FileCheck %s

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// The results of the main function are asked before any op: r goes through the
// transfer to the argument, which keeps c.
// CHECK-LABEL: func @results_come_first
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
// CHECK-SAME: -> (!mpmd.mesh_tensor<"pb", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @results_come_first(%a: !pa {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}) -> (!pb {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>} %[[ARG0]]
  // CHECK-NEXT: return %[[V0]]
  %0 = mpmd.transfer %a : (!pa) -> !pb
  return %0 : !pb
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// The edges of the arguments and the addition have their turn before the edge of
// the result: r wins, the result edge keeps c.
// CHECK-LABEL: func @order_settles_conflicts
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
// CHECK-SAME: -> (!mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
func.func @order_settles_conflicts(%a: !pa, %b: !pa {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) -> (!pa) attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]] = mpmd.fragment<mesh="pa", origin=[]> (%[[ARG0]], %[[ARG1]]) (%[[ARG2:arg[0-9]+]]: tensor<12x8xf32>, %[[ARG3:arg[0-9]+]]: tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V2:.*]] = sdy.data_flow_edge %[[ARG2]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: %[[V3:.*]] = sdy.data_flow_edge %[[ARG3]] sharding=<@grid, [{"r", ?}, {?}]>
  // CHECK-NEXT: %[[V4:.*]] = stablehlo.add %[[V2]], %[[V3]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: mpmd.return %[[V4]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V1:.*]] = sdy.data_flow_edge %[[V0]] sharding=<@grid, [{"c", ?}, {?}]>
  // CHECK-NEXT: return %[[V1]]
  %0 = mpmd.fragment<mesh="pa", origin=[]> (%a, %b) (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>) {
    %2 = sdy.data_flow_edge %x : tensor<12x8xf32>
    %3 = sdy.data_flow_edge %y : tensor<12x8xf32>
    %4 = stablehlo.add %2, %3 : tensor<12x8xf32>
    mpmd.return %4 : tensor<12x8xf32>
  } : (!pa, !pa) -> !pa
  %1 = sdy.data_flow_edge %0 sharding=<@grid, [{"c", ?}, {?}]> : !pa
  return %1 : !pa
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// Level 0: edges and ops whose operands have no other use. The negation propagates c
// to the sine before the addition, which reads %a twice, can propagate r.
// CHECK-LABEL: func @shared_operands_wait_for_the_next_level
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
func.func @shared_operands_wait_for_the_next_level(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.add %[[ARG0]], %[[ARG0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.sine %[[V0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.negate %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V3:.*]] = stablehlo.maximum %[[V1]], %[[V2]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V3]], %[[V3]]
  %0 = stablehlo.add %a, %a : tensor<12x8xf32>
  %1 = stablehlo.sine %0 : tensor<12x8xf32>
  %2 = stablehlo.negate %b : tensor<12x8xf32>
  %3 = stablehlo.maximum %1, %2 : tensor<12x8xf32>
  return %3, %3 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// Level 2: the contraction waits for elementwise ops.
// CHECK-LABEL: func @contractions_wait_for_elementwise_ops
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<8x8xf32>,
// CHECK-SAME: %[[ARG2:arg[0-9]+]]: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
// CHECK-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
func.func @contractions_wait_for_elementwise_ops(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<8x8xf32>, %c: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.dot_general %[[ARG0]], %[[ARG1]], contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.add %[[V0]], %[[ARG2]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V1]]
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.add %0, %c : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// Level 2 again: so do transfers.
// CHECK-LABEL: func @transfers_wait_for_elementwise_ops
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: !mpmd.mesh_tensor<"pa", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: !mpmd.mesh_tensor<"pb", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
// CHECK-SAME: -> (!mpmd.mesh_tensor<"pb", tensor<12x8xf32>> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
func.func @transfers_wait_for_elementwise_ops(%a: !pa {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: !pb {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}) -> (!pb) attributes {topology = #topo} {
  // CHECK-NEXT: %[[V0:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>} %[[ARG0]]
  // CHECK-NEXT: %[[V1:.*]] = mpmd.fragment<mesh="pb", origin=[]> (%[[V0]], %[[ARG1]]) (%[[ARG2:arg[0-9]+]]: tensor<12x8xf32>, %[[ARG3:arg[0-9]+]]: tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V3:.*]] = sdy.data_flow_edge %[[ARG2]] sharding=<@grid, [{"c", ?}, {?}]>
  // CHECK-NEXT: %[[V4:.*]] = sdy.data_flow_edge %[[ARG3]] sharding=<@grid, [{"c", ?}, {?}]>
  // CHECK-NEXT: %[[V5:.*]] = stablehlo.add %[[V3]], %[[V4]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: mpmd.return %[[V5]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[V2:.*]] = sdy.data_flow_edge %[[V1]] sharding=<@grid, [{"c", ?}, {?}]>
  // CHECK-NEXT: return %[[V2]]
  %0 = mpmd.transfer %a : (!pa) -> !pb
  %1 = mpmd.fragment<mesh="pb", origin=[]> (%0, %b) (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>) {
    %3 = sdy.data_flow_edge %x : tensor<12x8xf32>
    %4 = sdy.data_flow_edge %y : tensor<12x8xf32>
    %5 = stablehlo.add %3, %4 : tensor<12x8xf32>
    mpmd.return %5 : tensor<12x8xf32>
  } : (!pb, !pb) -> !pb
  %2 = sdy.data_flow_edge %1 : !pb
  return %2 : !pb
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// Level 3: the first contraction reduces the dimension that the second one passes
// on, and waits.
// CHECK-LABEL: func @reduction_factors_wait_for_others
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"r", ?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>},
// CHECK-SAME: %[[ARG2:arg[0-9]+]]: tensor<8x4xf32>)
// CHECK-SAME: -> (tensor<8x4xf32>, tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @reduction_factors_wait_for_others(%a: tensor<8x8xf32>, %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}, %d: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}) {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.dot_general %[[ARG0]], %[[ARG1]], contracting_dims = [1] x [0]
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.dot_general %[[ARG0]], %[[ARG2]], contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V0]], %[[V1]]
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.dot_general %a, %d, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// Until the last level a broadcast only propagates backward; by then the
// contraction has brought c.
// CHECK-LABEL: func @broadcasts_go_backward_first
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x4xf32>)
// CHECK-SAME: -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
func.func @broadcasts_go_backward_first(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}]>}, %b: tensor<12x4xf32>) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}) {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.broadcast_in_dim %[[ARG0]], dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.dot_general %[[V0]], %[[ARG1]], contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V1]]
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<8xf32>) -> tensor<8x12xf32>
  %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<8x12xf32>, tensor<12x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// Slices propagate forward at level 0 already, before the contraction brings c.
// CHECK-LABEL: func @dynamic_slices_go_forward_first
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<i32>,
// CHECK-SAME: %[[ARG2:arg[0-9]+]]: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>},
// CHECK-SAME: %[[ARG3:arg[0-9]+]]: tensor<8x2xf32>)
// CHECK-SAME: -> (tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @dynamic_slices_go_forward_first(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %i: tensor<i32>, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}, %d: tensor<8x2xf32>) -> tensor<8x2xf32> {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.dot_general %[[ARG2]], %[[ARG3]], contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.dynamic_slice %[[ARG0]], %[[ARG1]], %[[ARG1]], sizes = [8, 2] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.add %[[V0]], %[[V1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: return %[[V2]]
  %0 = stablehlo.dot_general %b, %d, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %1 = stablehlo.dynamic_slice %a, %i, %i, sizes = [8, 2] : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<12x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<12x8xf32>>
#topo = #mpmd.topology<<"pa" : <["r"=2, "c"=4]>>, <"pb" : <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// What an op changes is tried next, so r reaches %b and the cosine before.
// CHECK-LABEL: func @changed_ops_come_next
// CHECK-SAME: (%[[ARG0:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG1:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>},
// CHECK-SAME: %[[ARG2:arg[0-9]+]]: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, tensor<12x8xf32>)
func.func @changed_ops_come_next(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>}, %b: tensor<12x8xf32>, %d: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c", ?}, {?}]>}) -> (tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: %[[V0:.*]] = stablehlo.sine %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V1:.*]] = stablehlo.cosine %[[ARG1]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V2:.*]] = stablehlo.add %[[ARG0]], %[[V0]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: %[[V3:.*]] = stablehlo.maximum %[[V1]], %[[ARG2]]
  // CHECK-NEXT: return %[[V1]], %[[V2]], %[[V3]]
  %0 = stablehlo.sine %b : tensor<12x8xf32>
  %1 = stablehlo.cosine %b : tensor<12x8xf32>
  %2 = stablehlo.add %a, %0 : tensor<12x8xf32>
  %3 = stablehlo.maximum %1, %d : tensor<12x8xf32>
  return %1, %2, %3 : tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>
}
