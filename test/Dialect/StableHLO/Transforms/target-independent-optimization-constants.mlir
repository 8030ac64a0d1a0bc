// RUN: mpmd-opt %s -stablehlo-target-independent-optimization | FileCheck %s
// RUN: mpmd-opt %s -stablehlo-target-independent-optimization=fold-op-element-limit=3 | FileCheck %s --check-prefix=LIMIT

// CHECK-LABEL: func @clamps_with_bounds_per_element
func.func @clamps_with_bounds_per_element() -> (tensor<4xi32>, tensor<2xui8>, tensor<2xf32>) {
  // CHECK-DAG: dense<[1, 2, 2, 4]> : tensor<4xi32>
  // CHECK-DAG: dense<[100, 200]> : tensor<2xui8>
  // CHECK-DAG: dense<[1.000000e+00, -1.000000e+00]> : tensor<2xf32>
  %lo = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %hi = stablehlo.constant dense<[2, 5, 5, 5]> : tensor<4xi32>
  %x = stablehlo.constant dense<[1, 2, -7, 4]> : tensor<4xi32>
  %0 = stablehlo.clamp %lo, %x, %hi : tensor<4xi32>
  %ulo = stablehlo.constant dense<100> : tensor<2xui8>
  %uhi = stablehlo.constant dense<200> : tensor<2xui8>
  %ux = stablehlo.constant dense<[3, 250]> : tensor<2xui8>
  %1 = stablehlo.clamp %ulo, %ux, %uhi : tensor<2xui8>
  %flo = stablehlo.constant dense<-1.0> : tensor<2xf32>
  %fhi = stablehlo.constant dense<1.0> : tensor<2xf32>
  %fx = stablehlo.constant dense<[3.0, -3.0]> : tensor<2xf32>
  %2 = stablehlo.clamp %flo, %fx, %fhi : tensor<2xf32>
  return %0, %1, %2 : tensor<4xi32>, tensor<2xui8>, tensor<2xf32>
}

// CHECK-LABEL: func @leaves_clamp_with_scalar_bounds_alone
func.func @leaves_clamp_with_scalar_bounds_alone() -> tensor<2xf32> {
  // CHECK: stablehlo.clamp
  %lo = stablehlo.constant dense<0.0> : tensor<f32>
  %hi = stablehlo.constant dense<1.0> : tensor<f32>
  %x = stablehlo.constant dense<[3.0, -3.0]> : tensor<2xf32>
  %0 = stablehlo.clamp %lo, %x, %hi : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -0 comes before +0, and NaN last.
// CHECK-LABEL: func @compares_in_total_order
func.func @compares_in_total_order() -> (tensor<4xi1>, tensor<4xi1>) {
  // CHECK-DAG: %[[LT:.*]] = stablehlo.constant dense<[true, true, true, false]>
  // CHECK-DAG: %[[EQ:.*]] = stablehlo.constant dense<[false, false, false, true]>
  // CHECK:     return %[[LT]], %[[EQ]]
  %a = stablehlo.constant dense<[0x80000000, 0x7F800000, -2.0, 0x7FC00000]> : tensor<4xf32>
  %b = stablehlo.constant dense<[0.0, 0x7FC00000, -1.0, 0x7FC00000]> : tensor<4xf32>
  %0 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = stablehlo.compare EQ, %a, %b, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0, %1 : tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func @evaluates_erf
func.func @evaluates_erf() -> tensor<f32> {
  // CHECK-NEXT: stablehlo.constant dense<0.842700779> : tensor<f32>
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = chlo.erf %x : tensor<f32> -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func @knows_static_sizes
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<?xf32>)
func.func @knows_static_sizes(%x: tensor<2x3xf32>, %y: tensor<?xf32>) -> (tensor<i32>, tensor<2x3xf32>, tensor<i32>) {
  // CHECK-DAG: %[[N:.*]] = stablehlo.constant dense<3> : tensor<i32>
  // CHECK-DAG: %[[D:.*]] = stablehlo.get_dimension_size %[[Y]]
  // CHECK:     return %[[N]], %[[X]], %[[D]]
  %n = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  %1 = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
  %2 = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  return %0, %1, %2 : tensor<i32>, tensor<2x3xf32>, tensor<i32>
}

// Arithmetic on one operand observes the limit, unless it is a splat.
// LIMIT-LABEL: func @observes_limit_for_unary_ops
func.func @observes_limit_for_unary_ops() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // LIMIT-DAG: %[[SPLAT:.*]] = stablehlo.constant dense<-2.000000e+00> : tensor<4xf32>
  // LIMIT-DAG: %[[N:.*]] = stablehlo.negate
  // LIMIT-DAG: %[[SUM:.*]] = stablehlo.constant dense<[2.000000e+00, 4.000000e+00, 6.000000e+00, 8.000000e+00]>
  // LIMIT:     return %[[N]], %[[SPLAT]], %[[SUM]]
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.negate %y : tensor<4xf32>
  %2 = stablehlo.add %x, %x : tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @moves_splats_of_any_size
func.func @moves_splats_of_any_size() -> (tensor<1099511627776xi32>, tensor<1099511627776xi32>, tensor<2xi32>) {
  // CHECK-DAG:  %[[WHOLE:.*]] = stablehlo.constant dense<1> : tensor<1099511627776xi32>
  // CHECK-DAG:  %[[PART:.*]] = stablehlo.constant dense<1> : tensor<2xi32>
  // CHECK-NEXT: return %[[WHOLE]], %[[WHOLE]], %[[PART]]
  %1 = stablehlo.constant dense<1> : tensor<1099511627776xi32>
  %2 = stablehlo.constant dense<2> : tensor<1099511627776xi32>
  %p = stablehlo.constant dense<true> : tensor<1099511627776xi1>
  %reversed = stablehlo.reverse %1, dims = [0] : tensor<1099511627776xi32>
  %selected = stablehlo.select %p, %1, %2 : tensor<1099511627776xi1>, tensor<1099511627776xi32>
  %sliced = stablehlo.slice %1 [3:5] : (tensor<1099511627776xi32>) -> tensor<2xi32>
  return %reversed, %selected, %sliced : tensor<1099511627776xi32>, tensor<1099511627776xi32>, tensor<2xi32>
}

// Zero is neutral, but a sum of two zeros is -0 only if both are, and a
// difference only if it is -0 less 0.
// CHECK-LABEL: func @heeds_signs_of_zeros
func.func @heeds_signs_of_zeros() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK-DAG:  %[[Z:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<3xf32>
  // CHECK-DAG:  %[[N:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<3xf32>
  // CHECK-NEXT: return %[[Z]], %[[Z]], %[[N]], %[[N]]
  %n = stablehlo.constant dense<-0.0> : tensor<3xf32>
  %z = stablehlo.constant dense<0.0> : tensor<3xf32>
  %0 = stablehlo.subtract %n, %n : tensor<3xf32>
  %1 = stablehlo.add %n, %z : tensor<3xf32>
  %2 = stablehlo.subtract %n, %z : tensor<3xf32>
  %3 = stablehlo.add %n, %n : tensor<3xf32>
  return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func @takes_distances_of_complex_numbers
func.func @takes_distances_of_complex_numbers() -> (tensor<2xf32>, tensor<3xf64>) {
  // CHECK-DAG:  %[[SINGLE:.*]] = stablehlo.constant dense<[5.000000e+00, 1.000000e+00]> : tensor<2xf32>
  // CHECK-DAG:  %[[DOUBLE:.*]] = stablehlo.constant dense<1.300000e+01> : tensor<3xf64>
  // CHECK-NEXT: return %[[SINGLE]], %[[DOUBLE]]
  %z = stablehlo.constant dense<[(3.0, -4.0), (-1.0, 0.0)]> : tensor<2xcomplex<f32>>
  %w = stablehlo.constant dense<(5.0, 12.0)> : tensor<3xcomplex<f64>>
  %0 = stablehlo.abs %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %1 = stablehlo.abs %w : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  return %0, %1 : tensor<2xf32>, tensor<3xf64>
}

// Which numbers come out is up to the compiler: it may take the subnormal ones
// for zeros, and computes with narrow types in wider ones.
// CHECK-LABEL: func @leaves_what_compilers_differ_in_alone
func.func @leaves_what_compilers_differ_in_alone() -> (tensor<f32>, tensor<i1>, tensor<f8E4M3FN>, tensor<f4E2M1FN>, tensor<f32>) {
  // CHECK:      stablehlo.add
  // CHECK-NEXT: stablehlo.compare
  // CHECK-NEXT: stablehlo.multiply
  // CHECK-NEXT: stablehlo.convert
  // CHECK-NEXT: stablehlo.abs
  %tiny = stablehlo.constant dense<0x00000001> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %narrow = stablehlo.constant dense<448.0> : tensor<f8E4M3FN>
  %large = stablehlo.constant dense<100.0> : tensor<f32>
  %z = stablehlo.constant dense<(0x7F800000, 0x7FC00000)> : tensor<complex<f32>>
  %0 = stablehlo.add %tiny, %tiny : tensor<f32>
  %1 = stablehlo.compare GT, %tiny, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %2 = stablehlo.multiply %narrow, %narrow : tensor<f8E4M3FN>
  %3 = stablehlo.convert %large : (tensor<f32>) -> tensor<f4E2M1FN>
  %4 = stablehlo.abs %z : (tensor<complex<f32>>) -> tensor<f32>
  return %0, %1, %2, %3, %4 : tensor<f32>, tensor<i1>, tensor<f8E4M3FN>, tensor<f4E2M1FN>, tensor<f32>
}

// CHECK-LABEL: func @moves_booleans_and_narrow_numbers
func.func @moves_booleans_and_narrow_numbers() -> (tensor<3xi1>, tensor<2x2xi4>, tensor<3xcomplex<f32>>, tensor<4xi2>) {
  // CHECK-DAG: %[[B:.*]] = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  // CHECK-DAG: %[[T:.*]] = stablehlo.constant dense<{{\[\[}}1, 3], [-2, -8{{\]\]}}> : tensor<2x2xi4>
  // CHECK-DAG: %[[Z:.*]] = stablehlo.constant dense<[(5.000000e+00,6.000000e+00), (3.000000e+00,4.000000e+00), (1.000000e+00,2.000000e+00)]>
  // CHECK-DAG: %[[C:.*]] = stablehlo.constant dense<[1, -2, 1, 1]> : tensor<4xi2>
  // CHECK:     return %[[B]], %[[T]], %[[Z]], %[[C]]
  %b = stablehlo.constant dense<[false, true, true, true, false]> : tensor<5xi1>
  %t = stablehlo.constant dense<[[1, -2], [3, -8]]> : tensor<2x2xi4>
  %z = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]> : tensor<3xcomplex<f32>>
  %c = stablehlo.constant dense<[1, -2]> : tensor<2xi2>
  %d = stablehlo.constant dense<1> : tensor<2xi2>
  %0 = stablehlo.slice %b [1:5] : (tensor<5xi1>) -> tensor<4xi1>
  %1 = stablehlo.slice %0 [1:4] : (tensor<4xi1>) -> tensor<3xi1>
  %2 = stablehlo.transpose %t, dims = [1, 0] : (tensor<2x2xi4>) -> tensor<2x2xi4>
  %3 = stablehlo.reverse %z, dims = [0] : tensor<3xcomplex<f32>>
  %4 = stablehlo.concatenate %c, %d, dim = 0 : (tensor<2xi2>, tensor<2xi2>) -> tensor<4xi2>
  return %1, %2, %3, %4 : tensor<3xi1>, tensor<2x2xi4>, tensor<3xcomplex<f32>>, tensor<4xi2>
}

// The number of elements is 2^64, which wraps around to 0.
// CHECK-LABEL: func @does_not_take_the_largest_tensors_for_empty
// CHECK-SAME:    (%[[X:.*]]: tensor<
func.func @does_not_take_the_largest_tensors_for_empty(%x: tensor<4294967296x4294967296xf32>) -> (tensor<4294967296x4294967296xf32>, tensor<i32>) {
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate %[[X]]
  // CHECK-NEXT: %[[SIZE:.*]] = stablehlo.get_dimension_size %[[N]]
  // CHECK-NEXT: return %[[N]], %[[SIZE]]
  %0 = stablehlo.negate %x : tensor<4294967296x4294967296xf32>
  %1 = stablehlo.get_dimension_size %0, dim = 1 : (tensor<4294967296x4294967296xf32>) -> tensor<i32>
  return %0, %1 : tensor<4294967296x4294967296xf32>, tensor<i32>
}
