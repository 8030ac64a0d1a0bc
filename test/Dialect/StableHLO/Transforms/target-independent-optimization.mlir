// RUN: mpmd-opt %s -stablehlo-target-independent-optimization | FileCheck %s --check-prefixes=CHECK,FOLD
// RUN: mpmd-opt %s -stablehlo-target-independent-optimization=fold-op-element-limit=0 | FileCheck %s --check-prefixes=CHECK,LIMIT
// RUN: mpmd-opt %s -stablehlo-target-independent-optimization=optimize-float=false | FileCheck %s --check-prefix=NOFLOAT

// CHECK-LABEL:   func @drops_neutral_elements
// NOFLOAT-LABEL: func @drops_neutral_elements
func.func @drops_neutral_elements(%x: tensor<4xf32>, %i: tensor<4xi32>, %p: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi1>) {
  // CHECK-NEXT: return %arg0, %arg0, %arg1, %arg2
  // NOFLOAT-DAG: stablehlo.subtract
  // NOFLOAT-DAG: stablehlo.multiply %arg0
  // NOFLOAT:     return %{{[^,]*}}, %{{[^,]*}}, %arg1, %arg2
  %zero = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %ione = stablehlo.constant dense<1> : tensor<4xi32>
  %true = stablehlo.constant dense<true> : tensor<4xi1>
  %0 = stablehlo.add %zero, %x : tensor<4xf32>
  %1 = stablehlo.subtract %0, %zero : tensor<4xf32>
  %2 = stablehlo.multiply %one, %x : tensor<4xf32>
  %3 = stablehlo.multiply %i, %ione : tensor<4xi32>
  %4 = stablehlo.and %true, %p : tensor<4xi1>
  return %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi1>
}

// CHECK-LABEL: func @knows_results_of_integers_with_themselves
func.func @knows_results_of_integers_with_themselves(%i: tensor<4xi32>, %x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xi1>, tensor<4xf32>) {
  // CHECK-DAG: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<4xi32>
  // CHECK-DAG: %[[TRUE:.*]] = stablehlo.constant dense<true>
  // CHECK-DAG: %[[DIFF:.*]] = stablehlo.subtract %arg1, %arg1
  // CHECK:     return %[[ZERO]], %[[TRUE]], %[[DIFF]]
  %0 = stablehlo.subtract %i, %i : tensor<4xi32>
  %1 = stablehlo.compare LE, %i, %i, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %2 = stablehlo.subtract %x, %x : tensor<4xf32>
  return %0, %1, %2 : tensor<4xi32>, tensor<4xi1>, tensor<4xf32>
}

// CHECK-LABEL: func @moves_constants_to_the_right
func.func @moves_constants_to_the_right(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi1>) {
  // CHECK-DAG:  %[[C:.*]] = stablehlo.constant dense<2> : tensor<4xi32>
  // CHECK-DAG:  %[[CST:.*]] = stablehlo.constant dense<2.0
  // CHECK:      stablehlo.add %arg0, %[[CST]]
  // CHECK-NEXT: stablehlo.compare GT, %arg1, %[[C]]
  %c = stablehlo.constant dense<2> : tensor<4xi32>
  %cst = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.add %cst, %x : tensor<4xf32>
  %1 = stablehlo.compare LT, %c, %i, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %0, %1 : tensor<4xf32>, tensor<4xi1>
}

// CHECK-LABEL: func @chooses_known_branch_of_select
func.func @chooses_known_branch_of_select(%x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[S:.*]] = stablehlo.select %arg2, %arg1, %arg0
  // CHECK-NEXT: return %arg1, %arg0, %[[S]]
  %false = stablehlo.constant dense<false> : tensor<i1>
  %0 = stablehlo.select %false, %x, %y : tensor<i1>, tensor<4xf32>
  %1 = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>
  %2 = stablehlo.not %p : tensor<4xi1>
  %3 = stablehlo.select %2, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %0, %1, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @merges_movements
func.func @merges_movements(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<1x2x3xf32>) {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  // CHECK-NEXT: %[[S:.*]] = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  // CHECK-NEXT: return %[[R]], %arg0, %arg0, %[[B]], %[[S]]
  %0 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.reshape %0 : (tensor<3x2xf32>) -> tensor<6xf32>
  %2 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.slice %x [0:2, 0:3] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %7 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  return %1, %3, %4, %6, %7 : tensor<6xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<1x2x3xf32>
}

// CHECK-LABEL: func @flattens_concatenate_that_nothing_else_reads
func.func @flattens_concatenate_that_nothing_else_reads(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<7xf32>, tensor<5xf32>, tensor<7xf32>) {
  // CHECK-NEXT: stablehlo.concatenate %arg0, %arg1, %arg0, dim = 0
  // CHECK-NEXT: %[[INNER:.*]] = stablehlo.concatenate %arg0, %arg1, dim = 0
  // CHECK-NEXT: stablehlo.concatenate %[[INNER]], %arg0, dim = 0
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %1 = stablehlo.concatenate %0, %x, dim = 0 : (tensor<5xf32>, tensor<2xf32>) -> tensor<7xf32>
  %2 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %3 = stablehlo.concatenate %2, %x, dim = 0 : (tensor<5xf32>, tensor<2xf32>) -> tensor<7xf32>
  return %1, %2, %3 : tensor<7xf32>, tensor<5xf32>, tensor<7xf32>
}

// CHECK-LABEL: func @cuts_piece_out_of_concatenate
func.func @cuts_piece_out_of_concatenate(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>, %z: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<2x2xf32>) {
  // CHECK-NEXT: %[[C:.*]] = stablehlo.concatenate %arg1, %arg2, dim = 0
  // CHECK-NEXT: %[[S:.*]] = stablehlo.slice %[[C]] [0:2, 1:3]
  // CHECK-NEXT: return %arg1, %[[S]]
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.concatenate %x, %y, %z, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.dynamic_slice %0, %one, %zero, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  %2 = stablehlo.slice %0 [1:3, 1:3] : (tensor<3x4xf32>) -> tensor<2x2xf32>
  return %1, %2 : tensor<1x4xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: func @clamps_start_of_dynamic_slice
func.func @clamps_start_of_dynamic_slice(%x: tensor<5xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: stablehlo.slice %arg0 [3:5]
  %c = stablehlo.constant dense<7> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %c, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func @evaluates_constants_of_any_size
func.func @evaluates_constants_of_any_size() -> (tensor<3xi32>, tensor<3xi1>, tensor<2xi32>, tensor<2x3xf32>, tensor<3xf32>) {
  // CHECK-DAG: stablehlo.constant dense<[3, 6, 9]>
  // CHECK-DAG: stablehlo.constant dense<[true, false, false]>
  // CHECK-DAG: stablehlo.constant dense<[2, 3]>
  // CHECK-DAG: stablehlo.constant dense<2.500000e+00> : tensor<2x3xf32>
  // CHECK-DAG: stablehlo.constant dense<7.389056{{[0-9]*}}> : tensor<3xf32>
  // CHECK-NOT: stablehlo.{{[^c]}}
  %c = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %d = stablehlo.constant dense<2> : tensor<3xi32>
  %s = stablehlo.constant dense<2.5> : tensor<f32>
  %t = stablehlo.constant dense<2.0> : tensor<3xf32>
  %0 = stablehlo.multiply %c, %d : tensor<3xi32>
  %1 = stablehlo.add %0, %c : tensor<3xi32>
  %2 = stablehlo.compare LT, %c, %d, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %3 = stablehlo.slice %c [1:3] : (tensor<3xi32>) -> tensor<2xi32>
  %4 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %5 = stablehlo.exponential %t : tensor<3xf32>
  return %1, %2, %3, %4, %5 : tensor<3xi32>, tensor<3xi1>, tensor<2xi32>, tensor<2x3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func @observes_element_limit
func.func @observes_element_limit() -> (tensor<2xf32>, tensor<4xi32>) {
  // LIMIT-DAG: stablehlo.convert
  // LIMIT-DAG: stablehlo.concatenate
  // FOLD-DAG:  stablehlo.constant dense<[1.000000e+00, 2.000000e+00]>
  // FOLD-DAG:  stablehlo.constant dense<[1, 2, 1, 2]>
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = stablehlo.convert %c : (tensor<2xi32>) -> tensor<2xf32>
  %1 = stablehlo.concatenate %c, %c, dim = 0 : (tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32>
  return %0, %1 : tensor<2xf32>, tensor<4xi32>
}

// CHECK-LABEL: func @leaves_division_by_zero_alone
func.func @leaves_division_by_zero_alone() -> tensor<2xi32> {
  // CHECK: stablehlo.divide
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %0 = stablehlo.divide %c, %z : tensor<2xi32>
  return %0 : tensor<2xi32>
}

// CHECK-LABEL: func @captures_loop_invariants
func.func @captures_loop_invariants(%x: tensor<i32>, %y: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  // CHECK-NEXT: %[[W:.*]] = stablehlo.while(%[[I:.*]] = %arg0) : tensor<i32>
  // CHECK:        stablehlo.compare LT, %[[I]], %arg1
  // CHECK:        stablehlo.add %[[I]], %arg1
  // CHECK:      return %[[W]], %arg1
  %0:2 = stablehlo.while(%i = %x, %n = %y) : tensor<i32>, tensor<i32> cond {
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %n : tensor<i32>
    stablehlo.return %1, %n : tensor<i32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<i32>, tensor<i32>
}

// CHECK-LABEL: func @merges_discardable_attributes
func.func @merges_discardable_attributes(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.negate %arg0 {mhlo.frontend_attributes = {a = "1", b = "2"}, test.inner, test.outer}
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.negate %x {test.inner, mhlo.frontend_attributes = {a = "0", b = "2"}} : tensor<4xf32>
  %1 = stablehlo.add %0, %zero {test.outer, mhlo.frontend_attributes = {a = "1"}} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func @gathers_one_window_by_slice
func.func @gathers_one_window_by_slice(%x: tensor<5x6xf32>) -> tensor<6xf32> {
  // CHECK-NEXT: %[[S:.*]] = stablehlo.slice %arg0 [4:5, 0:6]
  // CHECK-NEXT: stablehlo.reshape %[[S]] : (tensor<1x6xf32>) -> tensor<6xf32>
  %c = stablehlo.constant dense<9> : tensor<1xi32>
  %0 = "stablehlo.gather"(%x, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 6>}> : (tensor<5x6xf32>, tensor<1xi32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// The inner one becomes a reshape before the outer one is looked at.
// CHECK-LABEL: func @visits_producers_first
func.func @visits_producers_first(%x: tensor<6xf32>) -> tensor<2x3x6xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<6xf32>) -> tensor<1x1x6xf32>
  // CHECK-NEXT: stablehlo.broadcast_in_dim %[[R]], dims = [0, 1, 2]
  %0 = stablehlo.broadcast_in_dim %x, dims = [2] : (tensor<6xf32>) -> tensor<1x1x6xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<1x1x6xf32>) -> tensor<2x3x6xf32>
  return %1 : tensor<2x3x6xf32>
}
