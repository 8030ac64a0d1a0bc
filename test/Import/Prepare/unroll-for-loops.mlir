// RUN: mpmd-opt %s -mpmd-unroll-for-loops | FileCheck %s

// CHECK-LABEL: func @uses_constants_for_the_index
// CHECK-SAME:    (%[[X:.*]]: tensor<ui32>
func.func @uses_constants_for_the_index(%x: tensor<ui32>) -> tensor<ui32> attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // CHECK-NEXT: %[[C0:.*]] = stablehlo.constant {unroll_counter = 0 : ui32} dense<0> : tensor<ui32>
  // CHECK-NEXT: %[[R0:.*]] = stablehlo.multiply %[[X]], %[[C0]] {unroll_counter = 0 : ui32} : tensor<ui32>
  // CHECK-NEXT: %[[C1:.*]] = stablehlo.constant {unroll_counter = 1 : ui32} dense<1> : tensor<ui32>
  // CHECK-NEXT: %[[R1:.*]] = stablehlo.multiply %[[R0]], %[[C1]] {unroll_counter = 1 : ui32} : tensor<ui32>
  // CHECK-NEXT: return %[[R1]]
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32, note} (%s: tensor<ui32>, %index: tensor<ui32>) {
    %1 = stablehlo.multiply %s, %index : tensor<ui32>
    mpmd.return %1 : tensor<ui32>
  } : tensor<ui32>
  return %0 : tensor<ui32>
}

// All values of an iteration come from what the previous one returned.
// CHECK-LABEL: func @swaps_values_between_iterations
// CHECK-SAME:    (%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>
func.func @swaps_values_between_iterations(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>)
    attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 0 : ui32} dense<0> : tensor<ui32>
  // CHECK-NEXT: %[[S0:.*]] = stablehlo.subtract %[[X]], %[[Y]] {unroll_counter = 0 : ui32}
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 1 : ui32} dense<1> : tensor<ui32>
  // CHECK-NEXT: %[[S1:.*]] = stablehlo.subtract %[[Y]], %[[S0]] {unroll_counter = 1 : ui32}
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 2 : ui32} dense<2> : tensor<ui32>
  // CHECK-NEXT: %[[S2:.*]] = stablehlo.subtract %[[S0]], %[[S1]] {unroll_counter = 2 : ui32}
  // CHECK-NEXT: return %[[S1]], %[[S2]]
  %0:2 = mpmd.for (%x, %y) {iterations = 3 : ui32, unroll_factor = 3 : ui32} (%s: tensor<f32>, %t: tensor<f32>, %index: tensor<ui32>) {
    %1 = stablehlo.subtract %s, %t : tensor<f32>
    mpmd.return %t, %1 : tensor<f32>, tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func @counts_on_through_loops_but_restarts_the_index
// CHECK-SAME:    (%[[X:.*]]: tensor<f32>
func.func @counts_on_through_loops_but_restarts_the_index(%x: tensor<f32>) -> tensor<f32>
    attributes {topology = #mpmd.topology<<"m1": <["d"=2]>>>} {
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 0 : ui32} dense<0>
  // CHECK-NEXT: %[[A:.*]] = stablehlo.negate %[[X]] {unroll_counter = 0 : ui32}
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 1 : ui32} dense<1>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.negate %[[A]] {unroll_counter = 1 : ui32}
  // CHECK-NEXT: %[[M:.*]] = stablehlo.sine %[[B]] : tensor<f32>
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 2 : ui32} dense<0>
  // CHECK-NEXT: %[[C:.*]] = stablehlo.abs %[[M]] {unroll_counter = 2 : ui32}
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 3 : ui32} dense<1>
  // CHECK-NEXT: %[[D:.*]] = stablehlo.abs %[[C]] {unroll_counter = 3 : ui32}
  // CHECK-NEXT: return %[[D]]
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    %1 = stablehlo.negate %s : tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : tensor<f32>
  %m = stablehlo.sine %0 : tensor<f32>
  %2 = mpmd.for (%m) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    %3 = stablehlo.abs %s : tensor<f32>
    mpmd.return %3 : tensor<f32>
  } : tensor<f32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func @marks_ops_of_the_body_but_not_nested_ones
func.func @marks_ops_of_the_body_but_not_nested_ones(%x: tensor<4xf32>, %init: tensor<f32>) -> tensor<4xf32>
    attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // CHECK:      stablehlo.while
  // CHECK:        stablehlo.compare
  // CHECK-NOT:    unroll_counter
  // CHECK:        stablehlo.negate %{{.*}} : tensor<4xf32>
  // CHECK-NEXT:   stablehlo.return
  // CHECK:      stablehlo.negate %{{.*}} {note, unroll_counter = 0 : ui32}
  %0 = mpmd.for (%x) {iterations = 1 : ui32, unroll_factor = 1 : ui32} (%s: tensor<4xf32>, %index: tensor<ui32>) {
    %1 = stablehlo.while(%it = %s) : tensor<4xf32>
     cond {
      %2 = stablehlo.compare LT, %init, %init : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %3 = stablehlo.negate %it : tensor<4xf32>
      stablehlo.return %3 : tensor<4xf32>
    }
    %4 = stablehlo.negate %1 {note, unroll_counter = 7 : ui32} : tensor<4xf32>
    mpmd.return %4 : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func @keeps_unused_copies_and_values_from_outside
// CHECK-SAME:    (%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>
func.func @keeps_unused_copies_and_values_from_outside(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32>
    attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 0 : ui32}
  // CHECK-NEXT: stablehlo.add %[[X]], %[[Y]] {unroll_counter = 0 : ui32}
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 1 : ui32}
  // CHECK-NEXT: stablehlo.add %[[X]], %[[Y]] {unroll_counter = 1 : ui32}
  // CHECK-NEXT: return %[[X]]
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    %1 = stablehlo.add %s, %y : tensor<f32>
    mpmd.return %s : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func @returns_values_from_outside
// CHECK-SAME:    (%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>
func.func @returns_values_from_outside(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32>
    attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // CHECK: return %[[Y]]
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    mpmd.return %y : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func @marks_calls
func.func @marks_calls(%x: tensor<f32>) -> tensor<f32> attributes {topology = #mpmd.topology<<"m1": <["d"=2]>>>} {
  // CHECK: mpmd.call @body(%{{.*}}) {unroll_counter = 0 : ui32}
  // CHECK: mpmd.call @body(%{{.*}}) {unroll_counter = 1 : ui32}
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    %1 = mpmd.call @body(%s) : (tensor<f32>) -> tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @body(%x: tensor<f32>) -> tensor<f32> attributes {topology = #mpmd.topology<<"m1": <["d"=2]>>>} {
  return %x : tensor<f32>
}

// CHECK-LABEL: func @uses_an_index_of_its_own_type
func.func @uses_an_index_of_its_own_type(%x: tensor<i32>) -> tensor<i32> attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // CHECK: stablehlo.constant {unroll_counter = 0 : ui32} dense<0> : tensor<i32>
  %0 = mpmd.for (%x) {iterations = 1 : ui32, unroll_factor = 1 : ui32} (%s: tensor<i32>, %index: tensor<i32>) {
    %1 = stablehlo.add %s, %index : tensor<i32>
    mpmd.return %1 : tensor<i32>
  } : tensor<i32>
  return %0 : tensor<i32>
}

// CHECK-LABEL: func @leaves_other_functions_alone
func.func @leaves_other_functions_alone(%x: tensor<f32>) -> tensor<f32> {
  // CHECK: mpmd.for
  %0 = mpmd.for (%x) {iterations = 4 : ui32, unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    mpmd.return %s : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func private @counts_from_zero_in_each_function
func.func private @counts_from_zero_in_each_function(%x: tensor<f32>) -> tensor<f32> attributes {topology = #mpmd.topology<<"m1": <["d"=2]>>>} {
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 0 : ui32} dense<0> : tensor<ui32>
  // CHECK-NEXT: stablehlo.negate %{{.*}} {unroll_counter = 0 : ui32}
  %0 = mpmd.for (%x) {iterations = 1 : ui32, unroll_factor = 1 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    %1 = stablehlo.negate %s : tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func @unrolls_loop_without_operands
func.func @unrolls_loop_without_operands() attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // CHECK-NEXT: %[[C0:.*]] = stablehlo.constant {unroll_counter = 0 : ui32} dense<0> : tensor<ui32>
  // CHECK-NEXT: stablehlo.custom_call @ping(%[[C0]]) {has_side_effect = true, unroll_counter = 0 : ui32}
  // CHECK-NEXT: %[[C1:.*]] = stablehlo.constant {unroll_counter = 1 : ui32} dense<1> : tensor<ui32>
  // CHECK-NEXT: stablehlo.custom_call @ping(%[[C1]]) {has_side_effect = true, unroll_counter = 1 : ui32}
  // CHECK-NEXT: return
  "mpmd.for"() <{iterations = 2 : ui32, unroll_factor = 2 : ui32}> ({
  ^bb0(%index: tensor<ui32>):
    stablehlo.custom_call @ping(%index) {has_side_effect = true} : (tensor<ui32>) -> ()
    mpmd.return
  }) : () -> ()
  return
}

// CHECK-LABEL: func @may_return_the_index
func.func @may_return_the_index(%x: tensor<ui32>) -> tensor<ui32> attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 0 : ui32} dense<0>
  // CHECK-NEXT: %[[C1:.*]] = stablehlo.constant {unroll_counter = 1 : ui32} dense<1>
  // CHECK-NEXT: return %[[C1]]
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%s: tensor<ui32>, %index: tensor<ui32>) {
    mpmd.return %index : tensor<ui32>
  } : tensor<ui32>
  return %0 : tensor<ui32>
}

// CHECK-LABEL: func @counts_from_the_number_that_a_loop_gives
// CHECK-SAME:    (%[[X:.*]]: tensor<f32>
func.func @counts_from_the_number_that_a_loop_gives(%x: tensor<f32>) -> tensor<f32>
    attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 3 : ui32} dense<0>
  // CHECK-NEXT: %[[A:.*]] = stablehlo.negate %[[X]] {unroll_counter = 3 : ui32}
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 4 : ui32} dense<1>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.negate %[[A]] {unroll_counter = 4 : ui32}
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 0 : ui32} dense<0>
  // CHECK-NEXT: %[[C:.*]] = stablehlo.abs %[[B]] {unroll_counter = 0 : ui32}
  // CHECK-NEXT: return %[[C]]
  %0 = mpmd.for (%x) {iterations = 2 : ui32, mpmd.first_counter = 3 : ui32, unroll_factor = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    %1 = stablehlo.negate %s : tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : tensor<f32>
  %2 = mpmd.for (%0) {iterations = 1 : ui32, unroll_factor = 1 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    %3 = stablehlo.abs %s : tensor<f32>
    mpmd.return %3 : tensor<f32>
  } : tensor<f32>
  return %2 : tensor<f32>
}

// Constants have no type of signed integers, modules no attributes without the
// name of a dialect.
// CHECK-LABEL: func @unrolls_what_takes_no_counter
func.func @unrolls_what_takes_no_counter(%x: tensor<f32>) -> tensor<f32> attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // CHECK-NEXT: stablehlo.constant {unroll_counter = 0 : ui32} dense<0> : tensor<ui32>
  // CHECK-NEXT: module {
  %0 = mpmd.for (%x) {iterations = 1 : ui32, unroll_factor = 1 : ui32} (%s: tensor<f32>, %index: tensor<si32>) {
    builtin.module {}
    mpmd.return %s : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}
