// RUN: mpmd-opt %s -mpmd-populate-unreduced-out-sharding | FileCheck %s

!l = tensor<8x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=2, "z"=2]>>>
sdy.mesh @g = <["x"=2, "y"=2, "z"=2]>
sdy.mesh @h = <["x"=2, "y"=2, "z"=2]>

// The dimensions of the constraint do not count.
// CHECK-LABEL: func @starts_from_closed_shardings_if_there_are_none
func.func @starts_from_closed_shardings_if_there_are_none(%a: !m) -> (!m, !m) attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{}, {}]>, <@g, [{}, {}], unreduced={"x"}>]>
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{"y"}, {}], unreduced={"x"}> : !l
    mpmd.return %x, %c : !l, !l
  } : (!m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}

// CHECK-LABEL: func @keeps_dimensions_and_replicated_axes_of_result
func.func @keeps_dimensions_and_replicated_axes_of_result(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK: in_shardings=[<@g, [{"y"}, {}]>], out_shardings=[<@g, [{"y"}, {?}], replicated={"z"}, unreduced={"x"}>]>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"y"}, {}]>], out_shardings=[<@g, [{"y"}, {?}], replicated={"z"}>]> (%a) (%x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{}, {}], unreduced={"x"}> : !l
    mpmd.return %c : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @rebinds_all_results_to_mesh_of_last_constraint
func.func @rebinds_all_results_to_mesh_of_last_constraint(%a: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  // CHECK: out_shardings=[<@h, [{"z"}, {}]>, <@h, [{}, {}], unreduced={"x"}>, <@h, [{}, {}], unreduced={"y"}>]>
  %0:3 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"z"}, {}]>, <@g, [{}, {}]>, <@g, [{}, {}]>]> (%a) (%x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{}, {}], unreduced={"x"}> : !l
    %d = sdy.sharding_constraint %x <@h, [{}, {}], unreduced={"y"}> : !l
    mpmd.return %x, %c, %d : !l, !l, !l
  } : (!m) -> (!m, !m, !m)
  return %0#0, %0#1, %0#2 : !m, !m, !m
}

// CHECK-LABEL: func @resets_reduction_of_all_results_to_sum
func.func @resets_reduction_of_all_results_to_sum(%a: !m) -> (!m, !m) attributes {topology = #topology} {
  // CHECK: out_shardings=[<@g, [{}, {}], unreduced={"y"}>, <@g, [{}, {}], unreduced={"x"}>]>
  %0:2 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{}, {}], unreduced=max{"y"}>, <@g, [{}, {}]>]> (%a) (%x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{}, {}], unreduced={"x"}> : !l
    mpmd.return %x, %c : !l, !l
  } : (!m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}

// CHECK-LABEL: func @replaces_other_unreduced_axes
func.func @replaces_other_unreduced_axes(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK: out_shardings=[<@g, [{}, {}], unreduced={"x"}>]>
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{}, {}], unreduced={"y"}>]> (%a) (%x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{}, {}], unreduced={"x"}> : !l
    mpmd.return %c : !l
  } : (!m) -> !m
  return %0 : !m
}

// Nothing to change: the mesh and the reduction stay, too.
// CHECK-LABEL: func @keeps_result_that_is_unreduced_already
func.func @keeps_result_that_is_unreduced_already(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK: out_shardings=[<@h, [{"y"}, {}], unreduced={"x"}>]>
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@h, [{"y"}, {}], unreduced={"x"}>]> (%a) (%x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{}, {}], unreduced={"x"}> : !l
    mpmd.return %c : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @ignores_constraint_without_unreduced_axes
func.func @ignores_constraint_without_unreduced_axes(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%{{.*}}) (
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{"x"}, {}]> : !l
    mpmd.return %c : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @ignores_constraint_after_another_op
func.func @ignores_constraint_after_another_op(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%{{.*}}) (
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{}, {}], unreduced={"x"}> : !l
    %n = stablehlo.negate %c : !l
    mpmd.return %n : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @reaches_fragments_in_loops
func.func @reaches_fragments_in_loops(%a: !m) -> !m attributes {topology = #topology} {
  // CHECK: mpmd.for
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{}, {}], unreduced={"x"}>]>
  %0 = mpmd.for (%a) {iterations = 2 : ui32} (%arg: !m, %i: tensor<ui32>) {
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%arg) (%x: !l) {
      %c = sdy.sharding_constraint %x <@g, [{}, {}], unreduced={"x"}> : !l
      mpmd.return %c : !l
    } : (!m) -> !m
    mpmd.return %1 : !m
  } : !m
  return %0 : !m
}

// A token has no dimensions.
// CHECK-LABEL: func @gives_token_results_closed_sharding_of_rank_zero
func.func @gives_token_results_closed_sharding_of_rank_zero(%t: !stablehlo.token, %a: !m) -> (!stablehlo.token, !m) attributes {topology = #topology} {
  // CHECK: out_shardings=[<@g, []>, <@g, [{}, {}], unreduced={"x"}>]>
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%t, %a) (%k: !stablehlo.token, %x: !l) {
    %c = sdy.sharding_constraint %x <@g, [{}, {}], unreduced={"x"}> : !l
    mpmd.return %k, %c : !stablehlo.token, !l
  } : (!stablehlo.token, !m) -> (!stablehlo.token, !m)
  return %0#0, %0#1 : !stablehlo.token, !m
}
