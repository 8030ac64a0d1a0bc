// RUN: mpmd-opt %s -mpmd-sharding-propagation-pipeline -split-input-file 2>/dev/null | FileCheck %s

// The addition of zero is folded and its constant disappears. Meshes get a
// description.

!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>
// CHECK: sdy.mesh @g = <["x"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
sdy.mesh @g = <["x"=2]>

// CHECK-LABEL: func @propagates_sharding_over_fragment_and_transfer
// CHECK-SAME:    (%[[A:.*]]: !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{"x"}, {}]>>) -> !mpmd.mesh_tensor<"n", tensor<4x4xf32>, sharding=<@g, [{"x"}, {}]>>
func.func @propagates_sharding_over_fragment_and_transfer(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {?}]>}) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"]> (%[[A]]) (%[[X:.*]]: tensor<4x4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.sine %[[X]] : tensor
  // CHECK-NEXT:   mpmd.return %[[S]]
  // CHECK-NEXT: } : (!mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{"x"}, {}]>>) -> !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{"x"}, {}]>>
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[F]] :
  // CHECK-NEXT: return %[[T]]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4x4xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<4x4xf32>
    %y = stablehlo.add %x, %z : tensor<4x4xf32>
    %s = stablehlo.sine %y : tensor<4x4xf32>
    mpmd.return %s : tensor<4x4xf32>
  } : (!m) -> !m
  %1 = mpmd.transfer %0 : (!m) -> !n
  return %1 : !n
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=2]>>, <"n": <["x"=2]>>>
sdy.mesh @g = <["x"=2, "y"=2]>

// CHECK-LABEL: func @stops_at_transfer_between_different_meshes
// CHECK-SAME:    -> !mpmd.mesh_tensor<"n", tensor<4x4xf32>> attributes
func.func @stops_at_transfer_between_different_meshes(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {"y"}]>}) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer %{{.*}} : (!mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{"x"}, {"y"}]>>) -> !mpmd.mesh_tensor<"n", tensor<4x4xf32>>
  %0 = mpmd.transfer %a : (!m) -> !n
  return %0 : !n
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4x5xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4x5xf32>>
#topology = #mpmd.topology<<"m": <["x"=6]>>, <"n": <["x"=6]>>>
sdy.mesh @g = <["x"=6]>

// 4 has the divisor 2 in common with 6, but the signature has no sub-axes.
// CHECK-LABEL: func @cuts_axis_to_what_divides_and_reshards
// CHECK-SAME:    (%[[A:.*]]: !mpmd.mesh_tensor<"m", tensor<4x5xf32>, sharding=<@g, [{}, {}]>>) -> !mpmd.mesh_tensor<"n", tensor<4x5xf32>, sharding=<@g, [{}, {}]>>
func.func @cuts_axis_to_what_divides_and_reshards(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["f"]>
  // CHECK:      } : (!mpmd.mesh_tensor<"m", tensor<4x5xf32>, sharding=<@g, [{}, {}]>>) -> !mpmd.mesh_tensor<"m", tensor<4x5xf32>, sharding=<@g, [{"x":(1)2}, {}]>>
  // CHECK-NEXT: mpmd.transfer {{.*}} -> !mpmd.mesh_tensor<"n", tensor<4x5xf32>, sharding=<@g, [{"x":(1)2}, {}]>>
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="n", origin=[]> ({{.*}}) {mpmd.inferred_by = ["extract_reshards"]}
  // CHECK:      } : (!mpmd.mesh_tensor<"n", tensor<4x5xf32>, sharding=<@g, [{"x":(1)2}, {}]>>) -> !mpmd.mesh_tensor<"n", tensor<4x5xf32>, sharding=<@g, [{}, {}]>>
  // CHECK-NEXT: return %[[K]]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4x5xf32>) {
    %s = stablehlo.sine %x : tensor<4x5xf32>
    mpmd.return %s : tensor<4x5xf32>
  } : (!m) -> !m
  %1 = mpmd.transfer %0 : (!m) -> !n
  return %1 : !n
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4x5xf32>>
#topology = #mpmd.topology<<"m": <["x"=7]>>>
sdy.mesh @g = <["x"=7]>

// CHECK-LABEL: func @drops_axis_that_has_no_divisor_in_common
// CHECK-NOT:     {"x"
func.func @drops_axis_that_has_no_divisor_in_common(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !m attributes {topology = #topology} {
  // CHECK: return %{{.*}} : !mpmd.mesh_tensor<"m", tensor<4x5xf32>, sharding=<@g, [{}, {}]>>
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4x5xf32>) {
    %s = stablehlo.sine %x : tensor<4x5xf32>
    mpmd.return %s : tensor<4x5xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

// A replicated argument pushes nothing. The transfers stay, though they
// transfer nothing.
// CHECK-LABEL: func @puts_transfers_before_returned_arguments
// CHECK-SAME:    (%[[A:.*]]: !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{}, {}]>>, %[[B:.*]]: !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{"x"}, {}]>>)
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{"x"}, {}]>>)
func.func @puts_transfers_before_returned_arguments(%a: !m {sdy.sharding = #sdy.sharding<@g, [{}, {}]>}, %b: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> (!m, !m) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[A]]
  // CHECK-NEXT: %[[U:.*]] = mpmd.transfer %[[B]]
  // CHECK-NEXT: return %[[T]], %[[U]]
  return %a, %b : !m, !m
}

// -----

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

// The user asks for two shardings of one value; the transfer has that of
// its operand, and a fragment after it reshards.
// CHECK-LABEL: func @keeps_annotations_that_differ
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{}, {"x"}]>>, !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{"x"}, {}]>>)
func.func @keeps_annotations_that_differ(%a: !m) -> (!m {sdy.sharding = #sdy.sharding<@g, [{}, {"x"}]>}, !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) attributes {topology = #topology} {
  // CHECK:      %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"]>
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[F]]
  // CHECK:      %[[K:.*]] = mpmd.fragment<mesh="m", origin=[]> (%[[T]])
  // CHECK:      return %[[K]], %[[F]]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %s = stablehlo.sine %x : !l
    mpmd.return %s : !l
  } : (!m) -> !m
  %1 = mpmd.transfer %0 : (!m) -> !m
  return %1, %0 : !m, !m
}

// -----

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

// Also where nothing flows, because the values of one position have one type.
// CHECK-LABEL: func @shards_values_of_loops_alike
func.func @shards_values_of_loops_alike(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}, %b: !m) -> (!m, !m) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.for {{.*}}(%[[P:.*]]: !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{"x"}, {}]>>, %[[Q:.*]]: !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{}, {}]>>, %{{.*}}: tensor<ui32>) {
  // CHECK-NEXT:   %[[F:.*]] = mpmd.fragment
  // CHECK:      mpmd.return %[[F]], %[[Q]]
  // CHECK-NEXT: } : !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{"x"}, {}]>>, !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{}, {}]>>
  %0:2 = mpmd.for (%a, %b) {iterations = 2 : ui32} (%p: !m, %q: !m, %i: tensor<ui32>) {
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%p) (%x: !l) {
      %s = stablehlo.sine %x : !l
      mpmd.return %s : !l
    } : (!m) -> !m
    mpmd.return %1, %q : !m, !m
  } : !m, !m
  return %0#0, %0#1 : !m, !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "one"=1]>>>
// CHECK:      sdy.mesh @g = <["x"=2, "one"=1]> {
sdy.mesh @g = <["x"=2, "one"=1]>
// CHECK-NEXT: sdy.mesh @empty = <[]> {
sdy.mesh @empty = <[]>
// CHECK-NEXT: sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]> {
sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>

// CHECK-LABEL: func @drops_axes_of_size_one_from_shardings_and_keeps_meshes
// CHECK-SAME:    sharding=<@g, [{"x"}, {}]>
func.func @drops_axes_of_size_one_from_shardings_and_keeps_meshes(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {"one"}]>}) attributes {topology = #topology} {
  return
}

// -----

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=2]>>>
sdy.mesh @g = <["x"=2, "y"=2]>

// CHECK-LABEL: func @keeps_sdy_ops_in_bodies
// CHECK-SAME:    (%{{.*}}: !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{"x"}, {}]>>
func.func @keeps_sdy_ops_in_bodies(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {?}], replicated={"y"}>}, %b: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  // CHECK:      sdy.propagation_barrier %{{.*}} allowed_direction=NONE
  // CHECK-NEXT: stablehlo.negate
  // CHECK-NEXT: sdy.sharding_group %{{.*}} group_id=0
  // CHECK-NEXT: stablehlo.sine
  // CHECK-NEXT: sdy.sharding_constraint %{{.*}} <@g, [{}, {"y"}]>
  // CHECK-NEXT: sdy.manual_computation(%{{.*}}) in_shardings=[<@g, [{"x"}, {}]>] out_shardings=[<@g, [{"x"}, {}]>] manual_axes={"x"}
  %0:3 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) (%x: !l, %y: !l) {
    %1 = sdy.propagation_barrier %x allowed_direction=NONE : !l
    %2 = stablehlo.negate %1 : !l
    sdy.sharding_group %y group_id=17 : !l
    %3 = stablehlo.sine %y : !l
    %4 = sdy.sharding_constraint %3 <@g, [{}, {"y"}]> : !l
    %5 = sdy.manual_computation(%x) in_shardings=[<@g, [{"x"}, {}]>] out_shardings=[<@g, [{"x"}, {}]>] manual_axes={"x"} (%z: tensor<2x4xf32>) {
      %6 = stablehlo.sine %z : tensor<2x4xf32>
      sdy.return %6 : tensor<2x4xf32>
    } : (!l) -> !l
    mpmd.return %2, %4, %5 : !l, !l, !l
  } : (!m, !m) -> (!m, !m, !m)
  return %0#0, %0#1, %0#2 : !m, !m, !m
}

// -----

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

// The result is partial although its dimensions are not split.
// CHECK-LABEL: func @makes_results_unreduced
// CHECK-SAME:    -> !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@g, [{}, {}], unreduced={"x"}>>
func.func @makes_results_unreduced(%a: !m {sdy.sharding = #sdy.sharding<@g, [{}, {"x"}]>}) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %d = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (!l, !l) -> !l
    %c = sdy.sharding_constraint %d <@g, [{}, {}], unreduced={"x"}> : !l
    mpmd.return %c : !l
  } : (!m) -> !m
  return %0 : !m
}
