// RUN: mpmd-opt %s -mpmd-convert-sdy-shardings-to-mpmd-types -verify-diagnostics -split-input-file
// RUN: mpmd-opt %s -mpmd-convert-sdy-shardings-to-mpmd-types -split-input-file 2>/dev/null | FileCheck %s

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
