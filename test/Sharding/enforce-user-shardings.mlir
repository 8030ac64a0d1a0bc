// RUN: mpmd-opt %s -mpmd-enforce-user-shardings 2>/dev/null | FileCheck %s

!l = tensor<8x8xf32>
!m = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<8x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=4]>>, <"n": <["x"=2, "y"=4]>>>
sdy.mesh @g = <["x"=2, "y"=4]>

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @sets_argument_on_every_fragment_that_reads_it
func.func @sets_argument_on_every_fragment_that_reads_it(
    %a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}, %b: !m) -> (!m, !m) attributes {topology = #topology} {
  // CHECK: origin=["f"], in_shardings=[<@g, [{"x"}, {}]>, <@g, [{"y"}, {}]>, <@g, [{"x"}, {}]>]>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{}, {"x"}]>, <@g, [{"y"}, {}]>, <@g, [{}, {}]>]> (%a, %b, %a) (%x: !l, %y: !l, %z: !l) {
    mpmd.return %y : !l
  } : (!m, !m, !m) -> !m
  // CHECK: origin=["g"], in_shardings=[<@g, [{"x"}, {}]>]>
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0, %1 : !m, !m
}

// CHECK-LABEL: func @leaves_argument_without_sharding_alone
func.func @leaves_argument_without_sharding_alone(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK: in_shardings=[<@g, [{"x"}, {}]>]
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"x"}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @leaves_transfers_of_arguments_alone
func.func @leaves_transfers_of_arguments_alone(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"y"}, {}]>]>}
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"y"}, {}]>]>} %a : (!m) -> !n
  return %0 : !n
}

// Only a dimension that loses axes closes and loses its priority.
// CHECK-LABEL: func @truncates_argument_at_first_sub_axis
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@g, [{"x"}, {?}p1], replicated={"y":(2)2}>}
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@g, [{}, {"x", ?}p2], unreduced={"y":(2)2}>}
func.func @truncates_argument_at_first_sub_axis(
    %a: !m {sdy.sharding = #sdy.sharding<@g, [{"x", "y":(1)2, ?}p3, {?}p1], replicated={"y":(2)2}>},
    %b: !m {sdy.sharding = #sdy.sharding<@g, [{"y":(1)2, ?}p1, {"x", ?}p2], unreduced={"y":(2)2}>}) -> !m attributes {topology = #topology} {
  // CHECK: in_shardings=[<@g, [{"x"}, {?}p1], replicated={"y":(2)2}>, <@g, [{}, {"x", ?}p2], unreduced={"y":(2)2}>]
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{}, {}]>, <@g, [{}, {}]>]> (%a, %b) (%x: !l, %y: !l) {
    mpmd.return %y : !l
  } : (!m, !m) -> !m
  return %0 : !m
}

// Axes after the sub-axis go as well.
// CHECK-LABEL: func @drops_axes_after_sub_axis
// CHECK-SAME: sdy.sharding = #sdy.sharding<@g, [{}, {}]>
func.func @drops_axes_after_sub_axis(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"y":(1)2, "x"}, {}]>}) attributes {topology = #topology} {
  return
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @sets_result_on_producer_and_other_readers
func.func @sets_result_on_producer_and_other_readers(%a: !m) -> (!m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}, !m, !n) attributes {topology = #topology} {
  // CHECK: %[[F:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x"}, {}]>, <@g, [{"y"}, {}]>]>
  %0:2 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{}, {}]>, <@g, [{"y"}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x, %x : !l, !l
  } : (!m) -> (!m, !m)
  // CHECK: origin=["g"], in_shardings=[<@g, [{"x"}, {}]>, <@g, [{?}, {?}]>, <@g, [{"x"}, {}]>]> (%[[F]]#0, %[[F]]#1, %[[F]]#0)
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0#0, %0#1, %0#0) (%x: !l, %y: !l, %z: !l) {
    mpmd.return %x : !l
  } : (!m, !m, !m) -> !m
  // CHECK: mpmd.transfer %[[F]]#0
  %2 = mpmd.transfer %0#0 : (!m) -> !n
  return %0#0, %1, %2 : !m, !m, !n
}

// CHECK-LABEL: func @makes_list_of_open_shardings_for_other_results
func.func @makes_list_of_open_shardings_for_other_results(%a: !m) -> (!m, !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) attributes {topology = #topology} {
  // CHECK: out_shardings=[<@g, [{?}, {?}]>, <@g, [{"x"}, {}]>]
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x, %x : !l, !l
  } : (!m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}

// CHECK-LABEL: func @sets_result_on_transfer
func.func @sets_result_on_transfer(%a: !m) -> (!n {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}, !n) attributes {topology = #topology} {
  // CHECK: %[[T:.*]] = mpmd.transfer {kept, sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>}
  %0 = mpmd.transfer {kept} %a : (!m) -> !n
  // CHECK: in_shardings=[<@g, [{"x"}, {}]>]> (%[[T]])
  %1 = mpmd.fragment<mesh="n", origin=["g"]> (%0) (%x: !l) {
    mpmd.return %x : !l
  } : (!n) -> !n
  return %0, %1 : !n, !n
}

// The producer's result and what reads it are truncated, the attribute is not.
// CHECK-LABEL: func @truncates_result_but_not_its_attribute
// CHECK-SAME: -> (!mpmd.mesh_tensor<"m", {{.*}}> {sdy.sharding = #sdy.sharding<@g, [{"x", "y":(1)2}, {}]>}, !mpmd{{.*}}, !mpmd{{.*}} {sdy.sharding = #sdy.sharding<@g, [{"y":(1)2}, {"x"}]>})
func.func @truncates_result_but_not_its_attribute(%a: !m)
    -> (!m {sdy.sharding = #sdy.sharding<@g, [{"x", "y":(1)2}, {}]>}, !m, !n {sdy.sharding = #sdy.sharding<@g, [{"y":(1)2}, {"x"}]>}) attributes {topology = #topology} {
  // CHECK: origin=["f"], out_shardings=[<@g, [{"x"}, {}]>]
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x", "y":(1)2}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK: origin=["g"], in_shardings=[<@g, [{"x"}, {}]>]
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"x", "y":(1)2}, {}]>]> (%0) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK: mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"}]>]>}
  %2 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"y":(1)2}, {"x"}]>]>} %a : (!m) -> !n
  return %0, %1, %2 : !m, !m, !n
}

// Only truncation reaches what is neither fragment nor transfer.
// CHECK-LABEL: func @sets_truncated_result_on_argument_and_loop
// CHECK-SAME: (%{{[a-z0-9]*}}: !mpmd.mesh_tensor<"m", {{[^>]*}}>> {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}
func.func @sets_truncated_result_on_argument_and_loop(%a: !m, %b: !m)
    -> (!m {sdy.sharding = #sdy.sharding<@g, [{"x", "y":(1)2}, {}]>}, !m {sdy.sharding = #sdy.sharding<@g, [{"y":(1)2}, {}]>}, !m {sdy.sharding = #sdy.sharding<@g, [{"y"}, {}]>}) attributes {topology = #topology} {
  // CHECK: mpmd.for {{.*}}sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {}]>, <@g, [{?}, {?}]>]>
  %0:2 = mpmd.for (%b, %b) {iterations = 2 : ui32} (%x: !m, %y: !m, %i: tensor<ui32>) {
    mpmd.return %x, %y : !m, !m
  } : !m, !m
  return %a, %0#0, %0#1 : !m, !m, !m
}

//===----------------------------------------------------------------------===//
// Other functions
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func private @leaves_private_function_alone
// CHECK-SAME: {"y":(1)2}
func.func private @leaves_private_function_alone(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"y":(1)2}, {}]>}) -> !m attributes {topology = #topology} {
  // CHECK: in_shardings=[<@g, [{}, {}]>]
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @leaves_spmd_function_alone
// CHECK-SAME: {"y":(1)2}
func.func @leaves_spmd_function_alone(%a: !l {sdy.sharding = #sdy.sharding<@g, [{"y":(1)2}, {}]>}) -> !l attributes {mesh_shape = #sdy.mesh<["x"=2, "y"=4]>} {
  return %a : !l
}
