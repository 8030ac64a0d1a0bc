// RUN: mpmd-opt %s -sdy-user-priority-propagate -split-input-file | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// From the operand of a call to the argument, from what is returned to the result.
// CHECK-LABEL: func @main
// CHECK-SAME:    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r", ?}, {?}]>})
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: %[[C:.*]] = call @callee(%{{.*}}) : (
  // CHECK-NEXT: sdy.func_data_flow_edge %[[C]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  %0 = call @callee(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.func_data_flow_edge %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// CHECK:     func private @callee(%[[X:.*]]: tensor<8x8xf32>) -> tensor<8x8xf32>
func.func private @callee(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: sdy.func_data_flow_edge %[[X]] {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  // CHECK-NEXT: stablehlo.sine {{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r", ?}, {?}]>]>}
  %0 = sdy.func_data_flow_edge %x : tensor<8x8xf32>
  %1 = stablehlo.sine %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// What one of two calls passes comes to the operand of the other.
// CHECK-LABEL: func @main
// CHECK-SAME:    (%{{.*}}: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>},
// CHECK-SAME:     %{{.*}}: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>})
func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"c", ?}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = call @callee(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = call @callee(%y) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
func.func private @callee(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.func_data_flow_edge %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @main
// CHECK-SAME:    (%{{.*}}: tensor<8x8xf32> {sdy.sharding
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: call @callee(%{{.*}}) : (
  %0 = call @callee(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// CHECK:     func private @callee
func.func private @callee(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: stablehlo.sine %{{.*}} : tensor
  %0 = stablehlo.sine %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// A function that is never called has no sources, and so no sharding.
// CHECK:     func @uncalled
func.func @uncalled(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}, {}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: sdy.func_data_flow_edge %{{.*}} : tensor
  %0 = sdy.func_data_flow_edge %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
