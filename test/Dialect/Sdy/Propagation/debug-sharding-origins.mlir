// RUN: mpmd-opt %s -sdy-add-data-flow-edges -sdy-basic-propagate=debug-sharding-origins -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -sdy-add-data-flow-edges -sdy-aggressive-propagate=debug-sharding-origins -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -sdy-add-data-flow-edges -sdy-op-priority-propagate=debug-sharding-origins -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -sdy-add-data-flow-edges -sdy-user-priority-propagate=debug-sharding-origins -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -sdy-add-data-flow-edges -sdy-user-priority-propagate="debug-sharding-origins debug-propagation-edge-sharding" -split-input-file | mpmd-opt -sdy-remove-propagation-debug-info -split-input-file | FileCheck %s --check-prefix=REMOVED
// REMOVED-NOT: origin
// REMOVED-NOT: edges

sdy.mesh @grid = <["a"=2, "b"=2, "c"=2]>

// CHECK-LABEL: func @arguments_results_and_constraints
// CHECK-SAME: sdy.sharding_origins = {a = "self", b = "input: 1", c = "constraint_0"}}, %arg1
// CHECK-SAME: sdy.sharding_origins = {a = "input: 0", b = "self", c = "constraint_0"}})
// CHECK-SAME: -> (tensor<8x8x8xf32> {{.*}}sdy.sharding_origins = {a = "input: 0", b = "input: 1", c = "constraint_0"}})
func.func @arguments_results_and_constraints(%x: tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {?}, {?}]>}, %y: tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}, {"b", ?}, {?}]>}) -> tensor<8x8x8xf32> {
  // CHECK-NEXT: stablehlo.add {{.*}}sdy.sharding_origins = [{a = "input: 0", b = "input: 1", c = "constraint_0"}]
  %0 = stablehlo.add %x, %y : tensor<8x8x8xf32>
  // CHECK-NEXT: sdy.sharding_constraint {{.*}} {sdy.sharding_origin_name = "constraint_0", sdy.sharding_origins = {a = "input: 0", b = "input: 1", c = "self"}}
  %1 = sdy.sharding_constraint %0 <@grid, [{?}, {?}, {"c", ?}]> : tensor<8x8x8xf32>
  return %1 : tensor<8x8x8xf32>
}

// -----

sdy.mesh @grid = <["a"=2, "b"=2, "c"=2]>

// CHECK-LABEL: func @manual_computations
// CHECK-SAME: sdy.sharding_origins = {a = "mc_0_input: 0", b = "mc_0_input: 0"}})
// CHECK-SAME: sdy.sharding_origins = {a = "mc_0_output: 0", c = "mc_0_output: 0"}})
func.func @manual_computations(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"a", ?}, {"b", ?}]>] out_shardings=[<@grid, [{"a", ?}, {"c", ?}]>] manual_axes={"a"} (%y: tensor<4x8xf32>) {
    // CHECK: sdy.data_flow_edge {{.*}}sdy.sharding_origins = {a = "self", b = "self"}
    // CHECK-NEXT: stablehlo.sine {{.*}}sdy.sharding_origins = [{b = "mc_0_input: 0"}]
    %1 = stablehlo.sine %y : tensor<4x8xf32>
    sdy.return %1 : tensor<4x8xf32>
  // CHECK: {sdy.sharding_origin_name = "mc_0"}
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

sdy.mesh @grid = <["a"=2, "b"=2, "c"=2]>

// Shardy has no name for these.
// CHECK-LABEL: func @annotated_ops
// CHECK-SAME: sdy.sharding_origins = {a = "op_0_output: 0"}})
func.func @annotated_ops(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: stablehlo.sine {{.*}}sdy.sharding_origin_name = "op_0", sdy.sharding_origins = [{a = "self"}]
  %0 = stablehlo.sine %x {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a", ?}]>]>} : tensor<8xf32>
  // CHECK-NEXT: stablehlo.cosine {{.*}}sdy.sharding_origins = [{a = "op_0_output: 0"}]
  %1 = stablehlo.cosine %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Nothing reads the sum, which goes; a declaration has no values.
sdy.mesh @grid = <["a"=2, ""=2]>
// CHECK-LABEL: func @main
// CHECK-SAME: sdy.sharding_origins = {a = "self"}
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ""}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: return
  %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a"}]>]>} : tensor<8xf32>
  return %x : tensor<8xf32>
}
// CHECK: func.func private @declared(tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a"}]>})
func.func private @declared(tensor<8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a"}]>})
