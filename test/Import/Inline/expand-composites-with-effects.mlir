// RUN: mpmd-opt %s -mpmd-expand-composites-with-effects | FileCheck %s

// CHECK-LABEL: func @main
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: %[[A:.*]] = call @acts(%{{.*}}) : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.composite "a.pure" %[[A]] {decomposition = @computes}
  // CHECK-NEXT: stablehlo.composite "a.unknown" %[[B]] {decomposition = @has_no_body}
  %0 = stablehlo.composite "a.acts" %x {decomposition = @acts} : (tensor<f32>) -> tensor<f32>
  %1 = stablehlo.composite "a.pure" %0 {decomposition = @computes} : (tensor<f32>) -> tensor<f32>
  %2 = stablehlo.composite "a.unknown" %1 {decomposition = @has_no_body} : (tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func private @acts
func.func private @acts(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: call @draws
  %0 = stablehlo.composite "a.draw" %x {decomposition = @draws} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @draws(%x: tensor<f32>) -> tensor<f32> {
  %s = stablehlo.constant dense<> : tensor<0xi64>
  %0 = stablehlo.rng %x, %x, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<0xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @computes(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @has_no_body(%x: tensor<f32>) -> tensor<f32>
