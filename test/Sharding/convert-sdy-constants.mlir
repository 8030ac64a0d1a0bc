// RUN: mpmd-opt %s -mpmd-convert-sdy-constants -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @converts_at_any_depth
func.func @converts_at_any_depth(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    // CHECK: %[[C:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    // CHECK: stablehlo.add %{{.*}}, %[[C]]
    %c = sdy.constant dense<1.0> : tensor<4xf32>
    %s = stablehlo.add %a, %c : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @keeps_attributes_and_location
func.func @keeps_attributes_and_location() -> tensor<4xi32> {
  // CHECK: stablehlo.constant {kept = 1 : i32, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<[1, 2, 3, 4]> : tensor<4xi32> loc("weights")
  %c = sdy.constant {kept = 1 : i32, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<[1, 2, 3, 4]> : tensor<4xi32> loc("weights")
  return %c : tensor<4xi32>
}

// CHECK-LABEL: func @neither_merges_nor_moves_constants
func.func @neither_merges_nor_moves_constants(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK-NEXT: stablehlo.negate
  // CHECK-NEXT: stablehlo.constant dense<2.000000e+00>
  // CHECK-NEXT: stablehlo.constant dense<2.000000e+00>
  %0 = stablehlo.negate %x : tensor<f32>
  %1 = sdy.constant dense<2.0> : tensor<f32>
  %2 = sdy.constant dense<2.0> : tensor<f32>
  %3 = stablehlo.add %0, %1 : tensor<f32>
  return %3, %2 : tensor<f32>, tensor<f32>
}
