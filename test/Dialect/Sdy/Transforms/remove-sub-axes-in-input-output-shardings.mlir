// RUN: mpmd-opt %s -split-input-file -sdy-remove-sub-axes-in-input-output-shardings | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4, "d"=2]>

// CHECK-LABEL: func @cuts_open_dimensions_of_only_function
// CHECK-SAME: (%{{.*}}: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {"c":(2)2}]>})
// CHECK-SAME: -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}], replicated={"c":(2)2}>})
func.func @cuts_open_dimensions_of_only_function(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", "c":(1)2, "d", ?}, {"c":(2)2}]>})
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(1)2, ?}], replicated={"c":(2)2}>}) {
  // CHECK-NEXT: sharding_per_value<[<@grid, [{"c":(1)2, ?}]>]>
  %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c":(1)2, ?}]>]>} dense<0.0> : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4, "d"=2]>

// CHECK-LABEL: func private @helper
// CHECK-SAME: {"c":(1)2, ?}
func.func private @helper(tensor<16xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(1)2, ?}]>})

// CHECK-LABEL: func @main
// CHECK-SAME: {?}
func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@grid, [{"c":(1)2, ?}]>}) {
  return
}
