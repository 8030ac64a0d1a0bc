// RUN: mpmd-opt %s -stablehlo-target-independent-optimization | FileCheck %s

//===----------------------------------------------------------------------===//
// Movements
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @forwards_movements_that_move_nothing
func.func @forwards_movements_that_move_nothing(%x: tensor<1x3xf32>, %s: tensor<f32>) -> (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) {
  // CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0
  %0 = stablehlo.pad %x, %s, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  %1 = stablehlo.reverse %x, dims = [0] : tensor<1x3xf32>
  %2 = stablehlo.convert %x : tensor<1x3xf32>
  %3 = stablehlo.concatenate %x, dim = 1 : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %4 = stablehlo.transpose %x, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<1x3xf32>
  return %0, %1, %2, %3, %4 : tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>
}

// CHECK-LABEL: func @keeps_movements_that_move_something
func.func @keeps_movements_that_move_something(%x: tensor<1x3xf32>, %s: tensor<f32>) -> (tensor<1x5xf32>, tensor<1x3xf32>, tensor<1x3xbf16>) {
  // CHECK-NEXT: stablehlo.pad
  // CHECK-NEXT: stablehlo.reverse %arg0, dims = [0, 1]
  // CHECK-NEXT: stablehlo.convert
  %0 = stablehlo.pad %x, %s, low = [0, 0], high = [0, 0], interior = [0, 1] : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x5xf32>
  %1 = stablehlo.reverse %x, dims = [0, 1] : tensor<1x3xf32>
  %2 = stablehlo.convert %x : (tensor<1x3xf32>) -> tensor<1x3xbf16>
  return %0, %1, %2 : tensor<1x5xf32>, tensor<1x3xf32>, tensor<1x3xbf16>
}

// CHECK-LABEL: func @makes_broadcast_of_equal_size_reshape_or_transpose
func.func @makes_broadcast_of_equal_size_reshape_or_transpose(%x: tensor<2x3xf32>) -> (tensor<2x1x3xf32>, tensor<3x2xf32>, tensor<2x4x3xf32>) {
  // CHECK-NEXT: stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  // CHECK-NEXT: stablehlo.transpose %arg0, dims = [1, 0]
  // CHECK-NEXT: stablehlo.broadcast_in_dim %arg0, dims = [0, 2]
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  %1 = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x4x3xf32>
  return %0, %1, %2 : tensor<2x1x3xf32>, tensor<3x2xf32>, tensor<2x4x3xf32>
}

// CHECK-LABEL: func @makes_transpose_of_size_one_reshape
func.func @makes_transpose_of_size_one_reshape(%x: tensor<2x1x3xf32>) -> tensor<1x2x3xf32> {
  // CHECK-NEXT: stablehlo.reshape %arg0
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<2x1x3xf32>) -> tensor<1x2x3xf32>
  return %0 : tensor<1x2x3xf32>
}

// Even if the outer one alone would do nothing, or only move a size of 1.
// CHECK-LABEL: func @merges_chains_before_looking_at_their_ends
func.func @merges_chains_before_looking_at_their_ends(%x: tensor<2x1x3xf32>) -> (tensor<6xf32>, tensor<1x3x2xf32>, tensor<2x1x3xf32>) {
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate
  // CHECK-NEXT: %[[R:.*]] = stablehlo.reshape %arg0
  // CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %arg0, dims = [1, 2, 0]
  // CHECK-NEXT: return %[[R]], %[[T]], %[[N]]
  %0 = stablehlo.reshape %x : (tensor<2x1x3xf32>) -> tensor<6xf32>
  %1 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x1x3xf32>) -> tensor<3x2x1xf32>
  %2 = stablehlo.negate %x : tensor<2x1x3xf32>
  %3 = stablehlo.reshape %0 : (tensor<6xf32>) -> tensor<6xf32>
  %4 = stablehlo.transpose %1, dims = [2, 0, 1] : (tensor<3x2x1xf32>) -> tensor<1x3x2xf32>
  return %3, %4, %2 : tensor<6xf32>, tensor<1x3x2xf32>, tensor<2x1x3xf32>
}

// CHECK-LABEL: func @makes_iota_one_dimensional
func.func @makes_iota_one_dimensional() -> (tensor<4x3xi32>, tensor<1xf32>) {
  // CHECK-DAG: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
  // CHECK-DAG: %[[LINE:.*]] = stablehlo.iota dim = 0 : tensor<3xi32>
  // CHECK:     %[[IOTA:.*]] = stablehlo.broadcast_in_dim %[[LINE]], dims = [1]
  // CHECK:     return %[[IOTA]], %[[ZERO]]
  %0 = stablehlo.iota dim = 1 : tensor<4x3xi32>
  %1 = stablehlo.iota dim = 0 : tensor<1xf32>
  return %0, %1 : tensor<4x3xi32>, tensor<1xf32>
}

// CHECK-LABEL: func @drops_empty_pieces_of_concatenate
func.func @drops_empty_pieces_of_concatenate(%x: tensor<2xf32>, %e: tensor<0xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.concatenate %arg0, %arg0, dim = 0
  %0 = stablehlo.concatenate %x, %e, %x, dim = 0 : (tensor<2xf32>, tensor<0xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func @moves_elements_of_constants
func.func @moves_elements_of_constants(%i: tensor<i32>) -> (tensor<3x2xi32>, tensor<2x3xi32>, tensor<6xi32>, tensor<1x2xi32>) {
  // CHECK-DAG: %[[T:.*]] = stablehlo.constant dense<{{\[}}[1, 4], [2, 5], [3, 6]]>
  // CHECK-DAG: %[[R:.*]] = stablehlo.constant dense<{{\[}}[3, 2, 1], [6, 5, 4]]>
  // CHECK-DAG: %[[F:.*]] = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]>
  // CHECK-DAG: %[[S:.*]] = stablehlo.constant dense<7> : tensor<1x2xi32>
  // CHECK:     return %[[T]], %[[R]], %[[F]], %[[S]]
  %c = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %s = stablehlo.constant dense<7> : tensor<2x3xi32>
  %0 = stablehlo.transpose %c, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %1 = stablehlo.reverse %c, dims = [1] : tensor<2x3xi32>
  %2 = stablehlo.reshape %c : (tensor<2x3xi32>) -> tensor<6xi32>
  %3 = stablehlo.dynamic_slice %s, %i, %i, sizes = [1, 2] : (tensor<2x3xi32>, tensor<i32>, tensor<i32>) -> tensor<1x2xi32>
  return %0, %1, %2, %3 : tensor<3x2xi32>, tensor<2x3xi32>, tensor<6xi32>, tensor<1x2xi32>
}

//===----------------------------------------------------------------------===//
// Dynamic ops with constant parameters
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @makes_dynamic_ops_static
func.func @makes_dynamic_ops_static(%x: tensor<8xf32>, %s: tensor<f32>, %m: tensor<5x3xf32>, %i: tensor<2x1xi32>) -> (tensor<2xf32>, tensor<17xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<3xi32>, tensor<2x3xf32>) {
  // CHECK-NEXT: stablehlo.iota dim = 0 : tensor<3xi32>
  // CHECK-NEXT: stablehlo.slice %arg0 [1:5:2]
  // CHECK-NEXT: stablehlo.pad %arg0, %arg1, low = [1], high = [1], interior = [1]
  // CHECK-NEXT: stablehlo.reshape %arg0
  // CHECK-NEXT: stablehlo.broadcast_in_dim %arg0, dims = [0]
  // CHECK-NEXT: "stablehlo.gather"(%arg2, %arg3)
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %five = stablehlo.constant dense<5> : tensor<1xi32>
  %shape = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
  %rows = stablehlo.constant dense<[8, 2]> : tensor<2xi32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %sizes = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %4 = stablehlo.dynamic_iota %three, dim = 0 : (tensor<1xi32>) -> tensor<3xi32>
  %0 = "stablehlo.real_dynamic_slice"(%x, %one, %five, %two) : (tensor<8xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf32>
  %1 = stablehlo.dynamic_pad %x, %s, %one, %one, %one : (tensor<8xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<17xf32>
  %2 = stablehlo.dynamic_reshape %x, %shape : (tensor<8xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  %3 = stablehlo.dynamic_broadcast_in_dim %x, %rows, dims = [0] : (tensor<8xf32>, tensor<2xi32>) -> tensor<8x2xf32>
  %5 = "stablehlo.dynamic_gather"(%m, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<17xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<3xi32>, tensor<2x3xf32>
}

// CHECK-LABEL: func @leaves_slice_to_another_rank_alone
func.func @leaves_slice_to_another_rank_alone(%x: tensor<4xf32>) -> tensor<4x1xf32> {
  // CHECK: stablehlo.real_dynamic_slice
  %start = stablehlo.constant dense<0> : tensor<1xi64>
  %limit = stablehlo.constant dense<4> : tensor<1xi64>
  %stride = stablehlo.constant dense<1> : tensor<1xi64>
  %0 = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// Sizes that contradict each other are not known to.
// CHECK-LABEL: func @leaves_chains_through_unknown_sizes_alone
func.func @leaves_chains_through_unknown_sizes_alone(%x: tensor<2x1xf32>, %p: tensor<2xi1>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<1x3xf32>, tensor<3xf32>, tensor<5x3xf32>) {
  // CHECK-COUNT-2: stablehlo.reshape
  // CHECK-COUNT-2: stablehlo.{{transpose|reshape}}
  // CHECK:         stablehlo.not
  // CHECK-COUNT-2: stablehlo.concatenate
  %0 = stablehlo.reshape %x : (tensor<2x1xf32>) -> tensor<?xf32, #stablehlo.bounds<4>>
  %1 = stablehlo.reshape %0 : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<3xf32>
  %2 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x1xf32>) -> tensor<1x?xf32>
  %3 = stablehlo.transpose %2, dims = [0, 1] : (tensor<1x?xf32>) -> tensor<1x3xf32>
  %4 = stablehlo.not %p : (tensor<2xi1>) -> tensor<?xi1>
  %5 = stablehlo.select %4, %y, %1 : tensor<?xi1>, tensor<3xf32>
  %6 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<4x?xf32>
  %7 = stablehlo.concatenate %6, %3, dim = 0 : (tensor<4x?xf32>, tensor<1x3xf32>) -> tensor<5x3xf32>
  return %1, %3, %5, %7 : tensor<3xf32>, tensor<1x3xf32>, tensor<3xf32>, tensor<5x3xf32>
}

!unit = tensor<1x2x!quant.uniform<i8:f32:0, {1.0}>>
!turned = tensor<2x1x!quant.uniform<i8:f32:1, {1.0}>>

// CHECK-LABEL: func @leaves_dimension_of_scales_alone
func.func @leaves_dimension_of_scales_alone(%x: !unit) -> !turned {
  // CHECK-NEXT: stablehlo.transpose
  %0 = stablehlo.transpose %x, dims = [1, 0] : (!unit) -> !turned
  return %0 : !turned
}

//===----------------------------------------------------------------------===//
// Control flow and reductions
//===----------------------------------------------------------------------===//

// An index out of range means the last branch.
// CHECK-LABEL: func @inlines_known_branches
func.func @inlines_known_branches(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %arg0
  // CHECK-NEXT: %[[C:.*]] = stablehlo.cosine %arg0
  // CHECK-NEXT: return %[[S]], %[[C]]
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %nine = stablehlo.constant dense<9> : tensor<i32>
  %0 = "stablehlo.case"(%zero) ({
    %2 = stablehlo.sine %x : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  %1 = "stablehlo.case"(%nine) ({
    stablehlo.return %x : tensor<f32>
  }, {
    %2 = stablehlo.cosine %x : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func @removes_loop_that_never_runs
func.func @removes_loop_that_never_runs(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: return %arg0
  %0 = stablehlo.while(%p = %x) : tensor<f32> cond {
    %false = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %false : tensor<i1>
  } do {
    %1 = stablehlo.sine %p : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: func @knows_trivial_reductions
func.func @knows_trivial_reductions(%x: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  // CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<7.000000e+00> : tensor<2xf32>
  // CHECK-NEXT: return %arg0, %[[C]]
  %0 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = stablehlo.reduce(%x init: %s) across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %seven = stablehlo.constant dense<7.0> : tensor<f32>
    stablehlo.return %seven : tensor<f32>
  }
  return %0, %1 : tensor<2x3xf32>, tensor<2xf32>
}

// CHECK-LABEL: func @keeps_what_trivial_reductions_do
func.func @keeps_what_trivial_reductions_do(%x: tensor<3xf32>, %s: tensor<f32>) -> tensor<3xf32> {
  // CHECK: stablehlo.custom_call @print
  %0 = stablehlo.reduce(%x init: %s) across dimensions = [] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    stablehlo.custom_call @print(%a) {has_side_effect = true} : (tensor<f32>) -> ()
    stablehlo.return %a : tensor<f32>
  }
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func @leaves_if_alone
func.func @leaves_if_alone(%x: tensor<f32>) -> tensor<f32> {
  // CHECK: stablehlo.if
  %true = stablehlo.constant dense<true> : tensor<i1>
  %0 = "stablehlo.if"(%true) ({
    %1 = stablehlo.sine %x : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %0 : tensor<f32>
}

//===----------------------------------------------------------------------===//
// Taking apart and putting together
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @cancels_parts_of_complex_numbers_and_tuples
func.func @cancels_parts_of_complex_numbers_and_tuples(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xcomplex<f32>>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xcomplex<f32>>, tensor<2xf32>) {
  // CHECK-NEXT: return %arg0, %arg1, %arg2, %arg1
  %0 = stablehlo.complex %x, %y : tensor<2xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %2 = stablehlo.imag %0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %3 = stablehlo.real %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %4 = stablehlo.imag %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %5 = stablehlo.complex %3, %4 : tensor<2xcomplex<f32>>
  %6 = stablehlo.tuple %x, %y : tuple<tensor<2xf32>, tensor<2xf32>>
  %7 = stablehlo.get_tuple_element %6[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  return %1, %2, %5, %7 : tensor<2xf32>, tensor<2xf32>, tensor<2xcomplex<f32>>, tensor<2xf32>
}

// CHECK-LABEL: func @knows_bits
func.func @knows_bits(%i: tensor<4xi32>, %p: tensor<4xi1>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi1>, tensor<4xi1>) {
  // CHECK-DAG: %[[ONES:.*]] = stablehlo.constant dense<-1> : tensor<4xi32>
  // CHECK-DAG: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<4xi32>
  // CHECK:     return %[[ONES]], %[[ZERO]], %arg0, %arg1, %arg1
  %ones = stablehlo.constant dense<-1> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<4xi32>
  %true = stablehlo.constant dense<true> : tensor<4xi1>
  %false = stablehlo.constant dense<false> : tensor<4xi1>
  %0 = stablehlo.or %i, %ones : tensor<4xi32>
  %1 = stablehlo.xor %i, %i : tensor<4xi32>
  %2 = stablehlo.xor %i, %zero : tensor<4xi32>
  %3 = stablehlo.compare EQ, %p, %true, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %4 = stablehlo.compare NE, %p, %false, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0, %1, %2, %3, %4 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func @keeps_what_is_started_asynchronously
func.func @keeps_what_is_started_asynchronously(%x: tensor<2xf32>, %y: tensor<0xf32>) -> (tensor<2xf32>, tensor<0xf32>) {
  // CHECK: ^bb0(%[[X:.*]]: tensor<2xf32>):
  // CHECK-NEXT: stablehlo.slice %[[X]] [0:2]
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<2xf32>):
    %4 = stablehlo.slice %a [0:2] : (tensor<2xf32>) -> tensor<2xf32>
    stablehlo.return %4 : tensor<2xf32>
  }) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
  // CHECK: ^bb0(%[[Y:.*]]: tensor<0xf32>):
  // CHECK-NEXT: stablehlo.slice %[[Y]] [0:0]
  %1 = "stablehlo.async_start"(%y) ({
  ^bb0(%a: tensor<0xf32>):
    %4 = stablehlo.slice %a [0:0] : (tensor<0xf32>) -> tensor<0xf32>
    stablehlo.return %4 : tensor<0xf32>
  }) : (tensor<0xf32>) -> !stablehlo.future<tensor<0xf32>>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  %3 = "stablehlo.async_done"(%1) : (!stablehlo.future<tensor<0xf32>>) -> tensor<0xf32>
  return %2, %3 : tensor<2xf32>, tensor<0xf32>
}
