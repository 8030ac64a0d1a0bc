// RUN: mpmd-opt %s -chlo-legalize-to-stablehlo | FileCheck %s

// CHECK-LABEL: func @multiplies_for_a_square
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
func.func @multiplies_for_a_square(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[SQUARE:.*]] = stablehlo.multiply %[[X]], %[[X]]
  // CHECK-NEXT: return %[[SQUARE]]
  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func @broadcasts_the_operand_of_lower_rank
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<2x3xf32>)
func.func @broadcasts_the_operand_of_lower_rank(%x: tensor<3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %[[WIDE:.*]] = stablehlo.broadcast_in_dim %[[X]], dims = [1]
  // CHECK-NEXT: stablehlo.subtract %[[WIDE]], %[[Y]]
  %0 = chlo.broadcast_subtract %x, %y : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func @computes_narrow_types_in_f32
func.func @computes_narrow_types_in_f32(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK-NEXT: stablehlo.convert {{.*}} : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK-NOT:  chlo.
  // CHECK:      %[[ROUNDED:.*]] = stablehlo.convert {{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK-NEXT: return %[[ROUNDED]]
  %0 = chlo.erf %x : tensor<4xbf16> -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// CHECK-LABEL: func @leaves_dynamic_shapes_alone
func.func @leaves_dynamic_shapes_alone(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-NEXT: chlo.erf
  %0 = chlo.erf %x : tensor<?xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func @compares_booleans_without_sign
func.func @compares_booleans_without_sign(%x: tensor<4xi1>) -> tensor<2xi1> {
  // CHECK: stablehlo.compare GT, {{.*}}, UNSIGNED : (tensor<i1>, tensor<i1>)
  %0:2 = chlo.top_k(%x, k = 2) : tensor<4xi1> -> (tensor<2xi1>, tensor<2xi32>)
  return %0#0 : tensor<2xi1>
}

// Their bits do not count upwards from zero to infinity.
// CHECK-LABEL: func @leaves_next_numbers_of_narrow_types_alone
func.func @leaves_next_numbers_of_narrow_types_alone(%x: tensor<4xf8E4M3FNUZ>, %y: tensor<4xf6E2M3FN>) -> (tensor<4xf8E4M3FNUZ>, tensor<4xf6E2M3FN>) {
  // CHECK-NEXT: chlo.next_after
  // CHECK-NEXT: chlo.next_after
  %0 = chlo.next_after %x, %x : tensor<4xf8E4M3FNUZ>, tensor<4xf8E4M3FNUZ> -> tensor<4xf8E4M3FNUZ>
  %1 = chlo.next_after %y, %y : tensor<4xf6E2M3FN>, tensor<4xf6E2M3FN> -> tensor<4xf6E2M3FN>
  return %0, %1 : tensor<4xf8E4M3FNUZ>, tensor<4xf6E2M3FN>
}

// CHECK-LABEL: func @leaves_complex_bessel_functions_alone
func.func @leaves_complex_bessel_functions_alone(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // CHECK-NEXT: chlo.bessel_i1e
  %0 = chlo.bessel_i1e %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// The ops that broadcast take any elements, those of StableHLO do not.
// CHECK-LABEL: func @leaves_what_has_no_counterpart_alone
func.func @leaves_what_has_no_counterpart_alone(%b: tensor<4xi1>, %f: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xf32>, tensor<4xi1>) {
  // CHECK-NEXT: chlo.broadcast_divide
  // CHECK-NEXT: chlo.broadcast_subtract
  // CHECK-NEXT: chlo.broadcast_shift_left
  // CHECK-NEXT: chlo.broadcast_polygamma
  %0 = chlo.broadcast_divide %b, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %1 = chlo.broadcast_subtract %b, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %2 = chlo.broadcast_shift_left %f, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = chlo.broadcast_polygamma %b, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0, %1, %2, %3 : tensor<4xi1>, tensor<4xi1>, tensor<4xf32>, tensor<4xi1>
}

// What replaces an op must have the type that its users read.
// CHECK-LABEL: func @leaves_types_that_are_only_compatible_alone
func.func @leaves_types_that_are_only_compatible_alone(%f: tensor<4xf32>, %g: tensor<?xf32>, %i: tensor<4xi32>, %j: tensor<?xi32>) -> (tensor<?xf32>, tensor<*xf32>, tensor<4xi32>, tensor<4xf32>) {
  // CHECK-NEXT: chlo.erf
  // CHECK-NEXT: chlo.zeta
  // CHECK-NEXT: chlo.mulhi
  // CHECK-NEXT: chlo.next_after
  %0 = chlo.erf %f : tensor<4xf32> -> tensor<?xf32>
  %1 = chlo.zeta %f, %f : tensor<4xf32>, tensor<4xf32> -> tensor<*xf32>
  %2 = chlo.mulhi %j, %i : tensor<?xi32>, tensor<4xi32> -> tensor<4xi32>
  %3 = chlo.next_after %g, %f : tensor<?xf32>, tensor<4xf32> -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<?xf32>, tensor<*xf32>, tensor<4xi32>, tensor<4xf32>
}

!quantized = tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
!column = tensor<2x1x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
!row = tensor<1x3x!quant.uniform<i8:f32:0, {1.0}>>

// CHECK-LABEL: func @repeats_quantized_tensors_across_their_scales
func.func @repeats_quantized_tensors_across_their_scales(%x: !quantized, %y: !column, %z: !row, %p: tensor<2x3xi1>) -> (!quantized, !quantized, !quantized) {
  // CHECK-NEXT: %[[WIDE:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [0, 1]
  // CHECK-NEXT: stablehlo.add %arg0, %[[WIDE]]
  // CHECK-NEXT: chlo.broadcast_add %arg0, %arg2
  // CHECK-NEXT: chlo.broadcast_select
  %0 = chlo.broadcast_add %x, %y : (!quantized, !column) -> !quantized
  %1 = chlo.broadcast_add %x, %z : (!quantized, !row) -> !quantized
  %2 = chlo.broadcast_select %p, %x, %y : (tensor<2x3xi1>, !quantized, !column) -> !quantized
  return %0, %1, %2 : !quantized, !quantized, !quantized
}

// The operand of lower rank has bounds for fewer dimensions.
// CHECK-LABEL: func @broadcasts_without_bounds
func.func @broadcasts_without_bounds(%x: tensor<4xf32, #stablehlo.bounds<?>>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<4xf32, #stablehlo.bounds<?>>) -> tensor<3x4xf32>
  %0 = chlo.broadcast_add %x, %y : (tensor<4xf32, #stablehlo.bounds<?>>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func @leaves_what_reads_its_own_result_alone
func.func @leaves_what_reads_its_own_result_alone() {
  // CHECK: %[[X:.*]] = chlo.conj %[[X]]
  builtin.module {
    %0 = chlo.conj %0 : tensor<4xf32> -> tensor<4xf32>
  }
  return
}
