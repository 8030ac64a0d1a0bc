// RUN: mpmd-opt %s -canonicalize | FileCheck %s

// Reductions of other kinds are of later versions.

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @reduces_by_one_kind_before_another
func.func @reduces_by_one_kind_before_another(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}], unreduced=max{"r"}>}) -> tensor<12x8xf32> {
  // CHECK-COUNT-2: sdy.reshard
  %0 = sdy.reshard %x <@grid, [{}, {}]> : tensor<12x8xf32>
  %1 = sdy.reshard %0 <@grid, [{}, {}], unreduced={"r"}> : tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}
