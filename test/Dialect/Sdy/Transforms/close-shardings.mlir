// RUN: mpmd-opt %s -sdy-close-shardings | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @closes_dimensions_and_drops_replicated_axes
// CHECK-SAME: (%{{.*}}: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}, %{{.*}}: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}p2, {}], unreduced={"c"}>})
// CHECK-SAME: -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>})
func.func @closes_dimensions_and_drops_replicated_axes(
    %x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}], replicated={"c"}>},
    %y: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}p2, {?}p1], unreduced={"c"}>})
    -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {?}]>}) {
  // CHECK-NEXT: stablehlo.sine %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}, {"c"}]>]>}
  %0 = stablehlo.sine %x {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}, {"c", ?}]>]>} : tensor<12x8xf32>
  // CHECK-NEXT: sdy.sharding_constraint %{{.*}} <@grid, [{}, {}]>
  %1 = sdy.sharding_constraint %0 <@grid, [{?}, {?}]> : tensor<12x8xf32>
  // CHECK-NEXT: sdy.manual_computation(%{{.*}}) in_shardings=[<@grid, [{"r"}, {}]>] out_shardings=[<@grid, [{"r"}, {}]>]
  %2 = sdy.manual_computation(%1) in_shardings=[<@grid, [{"r", ?}, {?}]>] out_shardings=[<@grid, [{"r"}, {?}]>] manual_axes={"r"} (%a: tensor<6x8xf32>) {
    sdy.return %a : tensor<6x8xf32>
  } : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return %2 : tensor<12x8xf32>
}
