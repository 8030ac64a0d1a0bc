// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | mpmd-opt | FileCheck %s

// CHECK-LABEL: func @special_functions
func.func @special_functions(%x: tensor<4xf32>) {
  // CHECK-NEXT: chlo.acos %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %0 = chlo.acos %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.acosh %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.acosh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.asin %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %2 = chlo.asin %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.asinh %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %3 = chlo.asinh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.atan %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %4 = chlo.atan %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.atanh %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %5 = chlo.atanh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.bessel_i1e %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %6 = chlo.bessel_i1e %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.cosh %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %7 = chlo.cosh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.digamma %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %8 = chlo.digamma %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.erf_inv %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %9 = chlo.erf_inv %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.erfc %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %10 = chlo.erfc %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.sinh %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %11 = chlo.sinh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.tan %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %12 = chlo.tan %x : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func @tests_for_infinity
func.func @tests_for_infinity(%x: tensor<4xf32>) {
  // CHECK-NEXT: chlo.is_inf %{{.*}} : tensor<4xf32> -> tensor<4xi1>
  %0 = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK-NEXT: chlo.is_neg_inf %{{.*}} : tensor<4xf32> -> tensor<4xi1>
  %1 = chlo.is_neg_inf %x : tensor<4xf32> -> tensor<4xi1>
  return
}

// CHECK-LABEL: func @broadcasts_of_floats
func.func @broadcasts_of_floats(%x: tensor<4xf32>) {
  // CHECK-NEXT: chlo.broadcast_atan2 %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = chlo.broadcast_atan2 %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: chlo.broadcast_divide %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = chlo.broadcast_divide %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: chlo.broadcast_maximum %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = chlo.broadcast_maximum %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: chlo.broadcast_minimum %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = chlo.broadcast_minimum %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: chlo.broadcast_multiply %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = chlo.broadcast_multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: chlo.broadcast_next_after %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = chlo.broadcast_next_after %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: chlo.broadcast_polygamma %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = chlo.broadcast_polygamma %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: chlo.broadcast_remainder %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = chlo.broadcast_remainder %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: chlo.broadcast_zeta %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = chlo.broadcast_zeta %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func @broadcasts_of_integers
func.func @broadcasts_of_integers(%x: tensor<4xi32>) {
  // CHECK-NEXT: chlo.broadcast_and %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %0 = chlo.broadcast_and %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: chlo.broadcast_or %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = chlo.broadcast_or %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: chlo.broadcast_shift_left %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %2 = chlo.broadcast_shift_left %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: chlo.broadcast_shift_right_arithmetic %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %3 = chlo.broadcast_shift_right_arithmetic %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: chlo.broadcast_shift_right_logical %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %4 = chlo.broadcast_shift_right_logical %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return
}

// CHECK-LABEL: func @largest_elements
func.func @largest_elements(%x: tensor<3x9xf32>) {
  // CHECK-NEXT: %values, %indices = chlo.top_k(%{{.*}}, k = 2) : tensor<3x9xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
  %0:2 = chlo.top_k(%x, k = 2) : tensor<3x9xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return
}
