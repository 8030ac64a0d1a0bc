// RUN: mpmd-opt %s -sdy-update-non-divisible-input-output-shardings | FileCheck %s

sdy.mesh @grid = <["a"=8, "b"=2, "c"=4, "d"=5]>

// CHECK-LABEL: func @keeps_what_divides
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@grid, [{"a":(1)4}]>}
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@grid, [{"b", "c":(1)2}]>}
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@grid, [{}]>}
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@grid, [{"a":(2)2, ?}]>}
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@grid, [{"c"}p1, {?}], replicated={"a"}>}
// CHECK-SAME: -> (tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a":(1)4, ?}]>})
func.func @keeps_what_divides(
    %a: tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a"}]>},
    %b: tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"b", "c"}]>},
    %c: tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"d", "c"}p1]>},
    %d: tensor<6xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a":(2)4, ?}]>},
    %e: tensor<12x7xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c"}p1, {"b", ?}], replicated={"a"}>})
    -> (tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}]>}) {
  // CHECK-NEXT: stablehlo.sine %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a"}]>]>}
  %0 = stablehlo.sine %a {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a"}]>]>} : tensor<12xf32>
  return %0 : tensor<12xf32>
}

// CHECK-LABEL: func @borders_of_manual_computations
func.func @borders_of_manual_computations(%x: tensor<12xf32>) -> tensor<12xf32> {
  // CHECK-NEXT: sdy.manual_computation(%{{.*}}) in_shardings=[<@grid, [{"c"}]>] out_shardings=[<@grid, [{"c"}]>]
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"c", "b"}]>] out_shardings=[<@grid, [{"c", "a"}]>] manual_axes={"c"} (%y: tensor<3xf32>) {
    sdy.return %y : tensor<3xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  // CHECK: call @callee(%{{.*}}) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a":(1)4}]>]>}
  %1 = func.call @callee(%0) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a"}]>]>} : (tensor<12xf32>) -> tensor<12xf32>
  // CHECK: stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a"}]>]>}
  %2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a"}]>]>} %1 : tensor<12xf32>
  return %2 : tensor<12xf32>
}
func.func private @callee(tensor<12xf32>) -> tensor<12xf32>

// CHECK-LABEL: module @knows_another_mesh
module @knows_another_mesh {
  sdy.mesh @grid = <["e"=5]>
  // CHECK: func @f(%{{.*}}: tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"e"}]>})
  func.func @f(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<@grid, [{"e"}]>}) {
    return
  }
}
