// RUN: mpmd-opt %s -canonicalize | FileCheck %s
// RUN: mpmd-opt %s -cse | FileCheck %s --check-prefix=CSE

// CHECK-LABEL: func @folds_constant_like_of_static_shape
func.func @folds_constant_like_of_static_shape(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: %[[C:.*]] = chlo.constant dense<1.500000e+00> : tensor<3xf32>
  // CHECK-NEXT: return %[[C]]
  %0 = "chlo.constant_like"(%x) <{value = 1.5 : f32}> : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func @folds_constant_like_of_complex_numbers
func.func @folds_constant_like_of_complex_numbers(%x: tensor<3xf32>) -> tensor<3xcomplex<f64>> {
  // CHECK-NEXT: chlo.constant dense<(1.000000e+00,-2.000000e+00)> : tensor<3xcomplex<f64>>
  // CHECK-NEXT: return
  %0 = "chlo.constant_like"(%x) <{value = #complex.number<:f64 1.0, -2.0> : complex<f64>}> : (tensor<3xf32>) -> tensor<3xcomplex<f64>>
  return %0 : tensor<3xcomplex<f64>>
}

// CHECK-LABEL: func @keeps_constant_like_of_dynamic_shape
func.func @keeps_constant_like_of_dynamic_shape(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: chlo.constant_like
  %0 = "chlo.constant_like"(%x) <{value = 1.5 : f32}> : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func @merges_equal_constants
func.func @merges_equal_constants() -> (tensor<2xi8>, tensor<2xi8>) {
  // CHECK-NEXT: %[[C:.*]] = chlo.constant
  // CHECK-NEXT: return %[[C]], %[[C]]
  %0 = chlo.constant dense<7> : tensor<2xi8>
  %1 = chlo.constant dense<7> : tensor<2xi8>
  return %0, %1 : tensor<2xi8>, tensor<2xi8>
}

// CHECK-LABEL: func @drops_unused_functions_and_scans
func.func @drops_unused_functions_and_scans(%x: tensor<2xf32>) {
  // CHECK-NEXT: return
  %0 = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>
  %1 = chlo.scan(%x) inits () dimension=0 {
  ^bb0(%input: tensor<f32>):
    stablehlo.return %input : tensor<f32>
  } : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// CSE-LABEL: func @merges_swapped_operands_of_commutative_broadcast
func.func @merges_swapped_operands_of_commutative_broadcast(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // CSE-NEXT: %[[S:.*]] = chlo.broadcast_add
  // CSE-NEXT: return %[[S]], %[[S]]
  %0 = chlo.broadcast_add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = chlo.broadcast_add %y, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
