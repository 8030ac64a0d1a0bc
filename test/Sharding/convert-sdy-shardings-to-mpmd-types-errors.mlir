// RUN: mpmd-opt %s -mpmd-convert-sdy-shardings-to-mpmd-types -verify-diagnostics -split-input-file
// RUN: not mpmd-opt %s -mpmd-convert-sdy-shardings-to-mpmd-types -split-input-file 2>/dev/null | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<8x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=4]>>, <"n": <["x"=2, "y"=4]>>>
sdy.mesh @g = <["x"=2, "y"=4]>
sdy.mesh @h = <["x"=2, "y"=4]>

// The result is complete all the same.
// CHECK-LABEL: func @reports_first_transfer_that_reshards
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"n", tensor<8x8xf32>, sharding=<@h, [{"y"}, {}]>>
func.func @reports_first_transfer_that_reshards(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}, %b: !m) -> (!n, !n, !n, !n) attributes {topology = #topology} {
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@h, [{"y"}, {}]>]>} %a : (!m) -> !n
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"y"}, {}]>]>} %b : (!m) -> !n
  // expected-error@+1 {{different shardings for the operand and result: #sdy.sharding<@g, [{"x"}, {}]> and #sdy.sharding<@g, [{}, {"y"}]>}}
  %2 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"y"}]>]>} %a : (!m) -> !n
  %3 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"y"}, {}]>]>} %a : (!m) -> !n
  return %0, %1, %2, %3 : !n, !n, !n, !n
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<8x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=4]>>, <"n": <["x"=2, "y"=4]>>>
sdy.mesh @g = <["x"=2, "y"=4]>

func.func @accepts_missing_and_equivalent_shardings(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> (!n, !n) attributes {topology = #topology} {
  %0 = mpmd.transfer %a : (!m) -> !n
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x", ?}, {?}]>]>} %a : (!m) -> !n
  return %0, %1 : !n, !n
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @g = <["y"=2]>

func.func @reports_sharding_that_does_not_fit_the_topology(%a: !m) -> !m attributes {topology = #topology} {
  // expected-error@+1 {{unknown axis name: "y"; the mesh is #sdy.mesh<["x"=2]>}}
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"y"}]>]> (%a) (%x: tensor<8xf32>) {
    mpmd.return %x : tensor<8xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

func.func @reports_shardings_of_more_operands(%a: !m) -> !m attributes {topology = #topology} {
  // expected-error@+1 {{fragment has 1 operands, but shardings of 2}}
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{}]>, <@g, [{}]>]> (%a) (%x: tensor<8xf32>) {
    mpmd.return %x : tensor<8xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!l = tensor<8xf32>
!m = !mpmd.mesh_tensor<"m", tensor<8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

func.func @reports_edge(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}]>}) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // expected-error@+1 {{sdy.data_flow_edge is a data-flow edge that shardings are still stored on; run sdy-sink-data-flow-edges before shardings become types}}
  %1 = sdy.data_flow_edge %0 sharding=<@g, [{"x"}]> : !m
  %2 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"x"}]>]> (%1) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %2 : !m
}
