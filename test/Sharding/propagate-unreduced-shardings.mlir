// RUN: mpmd-opt %s -mpmd-propagate-unreduced-shardings | FileCheck %s

!l = tensor<8x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<8x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=2]>>, <"n": <["x"=2, "y"=2]>>, <"o": <["x"=4]>>>
sdy.mesh @g = <["x"=2, "y"=2]>

// CHECK-LABEL: func @reader_gets_the_parts
func.func @reader_gets_the_parts(%a: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"y"}, {}], unreduced={"x"}>]> (%a) (%x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{"y"}, {}], unreduced={"x"}> : !l
    mpmd.return %c : !l
  } : (!m) -> !m
  // CHECK: mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"y"}, {}], unreduced={"x"}>, <@g, [{}, {"y"}]>]>
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"y"}, {}]>, <@g, [{}, {"y"}]>]> (%0, %a) (%x: !l, %y: !l) {
    %s = stablehlo.add %x, %x : !l
    %c = sdy.sharding_constraint %s <@g, [{"y"}, {}], unreduced={"x"}> : !l
    %d = sdy.sharding_constraint %c <@g, [{"y"}, {}]> : !l
    mpmd.return %d : !l
  } : (!m, !m) -> !m
  return %1 : !m
}

// Other operands are as open as before: the mark says so.
// CHECK-LABEL: func @says_nothing_of_operands_without_sharding
func.func @says_nothing_of_operands_without_sharding(%a: !m {sdy.sharding = #sdy.sharding<@g, [{}, {}], unreduced={"x"}>}, %b: !m) -> !m attributes {topology = #topology} {
  // CHECK: in_shardings=[<@g, [{?}, {?}]>, <@g, [{}, {}], unreduced={"x"}>]> (%{{.*}}, %{{.*}}) {mpmd.operands_without_sharding = array<i64: 0>}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%b, %a) (%x: !l, %y: !l) {
    mpmd.return %x : !l
  } : (!m, !m) -> !m
  // CHECK: in_shardings=[<@g, [{?}, {?}]>, <@g, [{}, {}], unreduced={"x"}>]> (%{{.*}}, %{{.*}}) {mpmd.operands_without_sharding = array<i64: 0>}
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{?}, {?}]>, <@g, [{?}, {?}]>]> (%b, %a) {mpmd.operands_without_sharding = array<i64: 0, 1>} (%x: !l, %y: !l) {
    mpmd.return %x : !l
  } : (!m, !m) -> !m
  return %1 : !m
}

// CHECK-LABEL: func @what_is_returned_as_it_came_stays_unreduced
func.func @what_is_returned_as_it_came_stays_unreduced(%a: !m {sdy.sharding = #sdy.sharding<@g, [{}, {}], unreduced={"x"}>}) -> !n attributes {topology = #topology} {
  // CHECK: in_shardings=[<@g, [{}, {}], unreduced={"x"}>], out_shardings=[<@g, [{}, {}], unreduced={"x"}>]>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{}, {}]>], out_shardings=[<@g, [{}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK: mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {}], unreduced={"x"}>]>}
  %1 = mpmd.transfer %0 : (!m) -> !n
  // CHECK: mpmd.fragment<mesh="n", origin=["g"], in_shardings=[<@g, [{}, {}], unreduced={"x"}>]>
  %2 = mpmd.fragment<mesh="n", origin=["g"], in_shardings=[<@g, [{}, {}]>]> (%1) (%x: !l) {
    %d = sdy.sharding_constraint %x <@g, [{}, {}]> : !l
    mpmd.return %d : !l
  } : (!n) -> !n
  return %2 : !n
}

// A mesh of other axes gets the sum.
// CHECK-LABEL: func @sum_goes_to_mesh_of_other_axes
func.func @sum_goes_to_mesh_of_other_axes(%a: !m {sdy.sharding = #sdy.sharding<@g, [{}, {}], unreduced={"x"}>}) -> !mpmd.mesh_tensor<"o", !l> attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer %{{.*}} : (!mpmd.mesh_tensor<"m", tensor<8x4xf32>>) -> !mpmd.mesh_tensor<"o", tensor<8x4xf32>>
  %0 = mpmd.transfer %a : (!m) -> !mpmd.mesh_tensor<"o", !l>
  // CHECK: mpmd.fragment<mesh="o", origin=["g"]>
  %1 = mpmd.fragment<mesh="o", origin=["g"]> (%0) (%x: !l) {
    %d = sdy.sharding_constraint %x <@g, [{}, {}]> : !l
    mpmd.return %d : !l
  } : (!mpmd.mesh_tensor<"o", !l>) -> !mpmd.mesh_tensor<"o", !l>
  return %1 : !mpmd.mesh_tensor<"o", !l>
}

// CHECK-LABEL: func @constraint_may_be_in_a_shared_body
func.func @constraint_may_be_in_a_shared_body(%a: !m) -> (!m, !m) attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"y"}, {}], unreduced={"x"}>]>
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"y"}, {}]>]> (%a) (%x: !l) {
    %r = stablehlo.custom_call @mpmd.shared_body(%x) {called_computations = [@body]} : (!l) -> !l
    mpmd.return %r : !l
  } : (!m) -> !m
  // CHECK: mpmd.fragment<mesh="m", origin=["g"], out_shardings=[<@g, [{}, {}], unreduced={"x"}>]>
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: !l) {
    %r = stablehlo.custom_call @mpmd.shared_body(%x) {called_computations = [@body]} : (!l) -> !l
    mpmd.return %r : !l
  } : (!m) -> !m
  return %0, %1 : !m, !m
}
func.func private @body(%x: !l) -> !l attributes {mpmd.shared_body} {
  %s = stablehlo.add %x, %x : !l
  %c = sdy.sharding_constraint %s <@g, [{}, {}], unreduced={"x"}> : !l
  return %c : !l
}
