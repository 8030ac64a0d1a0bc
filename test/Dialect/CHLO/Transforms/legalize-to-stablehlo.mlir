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
