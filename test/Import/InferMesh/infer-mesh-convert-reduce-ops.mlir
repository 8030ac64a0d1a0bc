// RUN: mpmd-opt %s -mpmd-infer-mesh-convert-reduce-ops="infer-cross-mesh-reductions=true keep-init-values=true" | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: mpmd-opt %s -mpmd-infer-mesh-convert-reduce-ops=infer-cross-mesh-reductions=true | FileCheck %s --check-prefix=DROPPED
// RUN: mpmd-opt %s -mpmd-infer-mesh-convert-reduce-ops | FileCheck %s --check-prefixes=CHECK,SOME

!t = tensor<4xf32>
!p = tensor<1x4xf32>

// CHECK-LABEL: func @tree_becomes_one_reduce_of_its_leaves
// CHECK-SAME:    (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
func.func @tree_becomes_one_reduce_of_its_leaves(%a: !t, %b: !t) -> !t {
  // ALL-NEXT:  %[[R:.*]] = mpmd.reduce<mul> {mpmd.src_set = #mpmd.meshes_with_origins<"m2", "m1">} %[[B]], %[[A]], %[[B]]
  // ALL-NEXT:  return %[[R]]
  // SOME-NEXT: stablehlo.multiply %{{.*}} {mpmd.reduce = #mpmd.reduction<mul>, mpmd.src_set = #mpmd.meshes_with_origins<"m1", "m2">}
  // SOME-NEXT: stablehlo.multiply
  %0 = stablehlo.multiply %a, %b {mpmd.reduce = #mpmd.reduction<mul>, mpmd.src_set = #mpmd.meshes_with_origins<"m1", "m2">} : !t
  %1 = stablehlo.multiply %b, %0 {kept, mpmd.reduce = #mpmd.reduction<mul>, mpmd.src_set = #mpmd.meshes_with_origins<"m2", "m1">} : !t
  return %1 : !t
}

// CHECK-LABEL: func @inner_reduce_used_twice_is_spliced_twice
// CHECK-SAME:    (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
func.func @inner_reduce_used_twice_is_spliced_twice(%a: !t, %b: !t) -> !t {
  // ALL-NEXT: mpmd.reduce<add> %[[A]], %[[B]]
  // ALL-NEXT: mpmd.reduce<add> %[[A]], %[[B]], %[[A]], %[[B]]
  // ALL-NEXT: return
  %0 = stablehlo.add %a, %b {mpmd.reduce = #mpmd.reduction<add>} : !t
  %1 = stablehlo.add %0, %0 {mpmd.reduce = #mpmd.reduction<add>} : !t
  return %1 : !t
}

// CHECK-LABEL: func @inner_reduce_goes_with_its_last_user
// CHECK-SAME:    (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
func.func @inner_reduce_goes_with_its_last_user(%a: !t, %b: !t) -> (!t, !t) {
  // ALL-NEXT: %[[R:.*]] = mpmd.reduce<add> %[[A]], %[[B]], %[[A]]
  // ALL-NEXT: %[[S:.*]] = mpmd.reduce<add> %[[B]], %[[A]], %[[B]]
  // ALL-NEXT: return %[[R]], %[[S]]
  %0 = stablehlo.add %a, %b {mpmd.reduce = #mpmd.reduction<add>} : !t
  %1 = stablehlo.add %0, %a {mpmd.reduce = #mpmd.reduction<add>} : !t
  %2 = stablehlo.add %b, %0 {mpmd.reduce = #mpmd.reduction<add>} : !t
  return %1, %2 : !t, !t
}

// CHECK-LABEL: func @other_kind_is_an_operand_like_any
func.func @other_kind_is_an_operand_like_any(%a: !t, %b: !t) -> !t {
  // ALL-NEXT: %[[MAX:.*]] = mpmd.reduce<max>
  // ALL-NEXT: mpmd.reduce<add> %[[MAX]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>)
  %0 = stablehlo.maximum %a, %b {mpmd.reduce = #mpmd.reduction<max>} : !t
  %1 = stablehlo.add %0, %b {mpmd.reduce = #mpmd.reduction<add>} : !t
  return %1 : !t
}

// CHECK-LABEL: func @pieces_are_reshaped_one_by_one
// CHECK-SAME:    (%[[A:.*]]: tensor<1x4xf32>)
func.func @pieces_are_reshaped_one_by_one(%a: !p) -> !t {
  // ALL-NEXT: %[[B:.*]] = stablehlo.negate %[[A]] {mpmd.src_set = #mpmd.meshes_with_origins<"m2">}
  // ALL-NEXT: stablehlo.constant
  // ALL-NEXT: %[[R0:.*]] = stablehlo.reshape %[[A]] : (tensor<1x4xf32>) -> tensor<4xf32>
  // ALL-NEXT: %[[R1:.*]] = stablehlo.reshape %[[B]] {mpmd.src_set = #mpmd.meshes_with_origins<"m2">}
  // ALL-NEXT: %[[R2:.*]] = stablehlo.reshape %[[B]] {mpmd.src_set = #mpmd.meshes_with_origins<"m2">}
  // ALL-NEXT: %[[R:.*]] = mpmd.reduce<max> {mpmd.src_set = #mpmd.meshes_with_origins<"m1">} %[[R0]], %[[R1]], %[[R2]]
  // ALL-NEXT: return %[[R]]
  %b = stablehlo.negate %a {mpmd.src_set = #mpmd.meshes_with_origins<"m2">} : !p
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.concatenate %a, %b, %b, dim = 0 {mpmd.reduce = #mpmd.reduction<max>} : (!p, !p, !p) -> tensor<3x4xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [0] {mpmd.reduce = #mpmd.reduction<max>, mpmd.src_set = #mpmd.meshes_with_origins<"m1">} : (tensor<3x4xf32>, tensor<f32>) -> !t
  return %1 : !t
}

// CHECK-LABEL: func @none_reduce_allows_what_it_is_fed_by
// CHECK-SAME:    (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
func.func @none_reduce_allows_what_it_is_fed_by(%a: !t, %b: !t) -> !t {
  // CHECK-NEXT: %[[R:.*]] = mpmd.reduce<add> %[[A]], %[[B]], %[[A]]
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate %[[R]]
  // CHECK-NEXT: mpmd.reduce<none> %[[N]]
  %0 = stablehlo.add %a, %b {mpmd.reduce = #mpmd.reduction<add>} : !t
  %1 = stablehlo.add %0, %a {mpmd.reduce = #mpmd.reduction<add>} : !t
  %2 = stablehlo.negate %1 : !t
  %3 = mpmd.reduce<none> %2 : (!t) -> !t
  return %3 : !t
}

// CHECK-LABEL: func @unary_op_between_sums_ends_the_tree
func.func @unary_op_between_sums_ends_the_tree(%a: !t, %b: !t) -> !t {
  // SOME-NEXT: stablehlo.add
  // ALL-NEXT:  mpmd.reduce<add>
  // CHECK-NEXT: stablehlo.negate
  // CHECK-NEXT: mpmd.reduce<add>
  // CHECK-NEXT: mpmd.reduce<none>
  %0 = stablehlo.add %a, %b {mpmd.reduce = #mpmd.reduction<add>} : !t
  %1 = stablehlo.negate %0 : !t
  %2 = stablehlo.add %1, %a {mpmd.reduce = #mpmd.reduction<add>} : !t
  %3 = mpmd.reduce<none> %2 : (!t) -> !t
  return %3 : !t
}

// CHECK-LABEL: func @sum_that_is_no_reduction_stays
func.func @sum_that_is_no_reduction_stays(%a: !t, %b: !t) -> !t {
  // CHECK-NEXT: stablehlo.add %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: mpmd.reduce<none>
  %0 = stablehlo.add %a, %b : !t
  %1 = mpmd.reduce<none> %0 : (!t) -> !t
  return %1 : !t
}

// CHECK-LABEL: func @init_value_that_makes_a_difference_is_an_operand
func.func @init_value_that_makes_a_difference_is_an_operand(%a: !p, %b: !p) -> !t {
  // ALL:      %[[C:.*]] = stablehlo.constant {mpmd.src_set = #mpmd.meshes_with_origins<"m2">} dense<5.000000e+00>
  // ALL-NEXT: %[[R0:.*]] = stablehlo.reshape %arg0 :
  // ALL-NEXT: %[[R1:.*]] = stablehlo.reshape %arg1 :
  // ALL-NEXT: %[[I:.*]] = stablehlo.broadcast_in_dim %[[C]], dims = [] {mpmd.src_set = #mpmd.meshes_with_origins<"m2">} : (tensor<f32>) -> tensor<4xf32>
  // ALL-NEXT: mpmd.reduce<add> %[[R0]], %[[R1]], %[[I]]
  // DROPPED-LABEL: func @init_value_that_makes_a_difference_is_an_operand
  // DROPPED: mpmd.reduce<add> %{{[0-9]+}}, %{{[0-9]+}} : (tensor<4xf32>, tensor<4xf32>)
  %c = stablehlo.constant {mpmd.src_set = #mpmd.meshes_with_origins<"m2">} dense<5.0> : tensor<f32>
  %0 = stablehlo.concatenate %a, %b, dim = 0 {mpmd.reduce = #mpmd.reduction<add>} : (!p, !p) -> tensor<2x4xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] {mpmd.reduce = #mpmd.reduction<add>} : (tensor<2x4xf32>, tensor<f32>) -> !t
  return %1 : !t
}

// CHECK-LABEL: func @init_values_that_make_none
func.func @init_values_that_make_none(%a: tensor<1xi32>, %b: tensor<1xui8>, %c: tensor<1xi1>, %d: tensor<1xf8E4M3FN>) -> (tensor<i32>, tensor<ui8>, tensor<i1>, tensor<f8E4M3FN>) {
  // ALL: mpmd.reduce<max> %{{[0-9]+}}, %{{[0-9]+}} : (tensor<i32>, tensor<i32>)
  // ALL: mpmd.reduce<min> %{{[0-9]+}}, %{{[0-9]+}} : (tensor<ui8>, tensor<ui8>)
  // ALL: mpmd.reduce<and> %{{[0-9]+}}, %{{[0-9]+}} : (tensor<i1>, tensor<i1>)
  // ALL: mpmd.reduce<max> %{{[0-9]+}}, %{{[0-9]+}} : (tensor<f8E4M3FN>, tensor<f8E4M3FN>)
  %i0 = stablehlo.constant dense<-2147483648> : tensor<i32>
  %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %1 = stablehlo.reduce(%0 init: %i0) applies stablehlo.maximum across dimensions = [0] {mpmd.reduce = #mpmd.reduction<max>} : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
  %i1 = stablehlo.constant dense<255> : tensor<ui8>
  %2 = stablehlo.concatenate %b, %b, dim = 0 : (tensor<1xui8>, tensor<1xui8>) -> tensor<2xui8>
  %3 = stablehlo.reduce(%2 init: %i1) applies stablehlo.minimum across dimensions = [0] {mpmd.reduce = #mpmd.reduction<min>} : (tensor<2xui8>, tensor<ui8>) -> tensor<ui8>
  %i2 = stablehlo.constant dense<true> : tensor<i1>
  %4 = stablehlo.concatenate %c, %c, dim = 0 : (tensor<1xi1>, tensor<1xi1>) -> tensor<2xi1>
  %5 = stablehlo.reduce(%4 init: %i2) applies stablehlo.and across dimensions = [0] {mpmd.reduce = #mpmd.reduction<and>} : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
  %i3 = stablehlo.constant dense<-448.0> : tensor<f8E4M3FN>
  %6 = stablehlo.concatenate %d, %d, dim = 0 : (tensor<1xf8E4M3FN>, tensor<1xf8E4M3FN>) -> tensor<2xf8E4M3FN>
  %7 = stablehlo.reduce(%6 init: %i3) applies stablehlo.maximum across dimensions = [0] {mpmd.reduce = #mpmd.reduction<max>} : (tensor<2xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<f8E4M3FN>
  return %1, %3, %5, %7 : tensor<i32>, tensor<ui8>, tensor<i1>, tensor<f8E4M3FN>
}

// The sharding is one of pieces.
// CHECK-LABEL: func @reshaped_pieces_lose_shardings
func.func @reshaped_pieces_lose_shardings(%a: !p) -> !t {
  // ALL:      stablehlo.negate
  // ALL:      stablehlo.reshape %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<"m2">} :
  %b = stablehlo.negate %a {mpmd.src_set = #mpmd.meshes_with_origins<"m2">, sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=2]>, [{}, {"x"}]>]>} : !p
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.concatenate %b, %a, dim = 0 : (!p, !p) -> tensor<2x4xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] {mpmd.reduce = #mpmd.reduction<add>} : (tensor<2x4xf32>, tensor<f32>) -> !t
  return %1 : !t
}

// CHECK-LABEL: func @mark_of_another_kind_is_none
func.func @mark_of_another_kind_is_none(%a: !p) -> !t {
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.concatenate %a, %a, dim = 0 : (!p, !p) -> tensor<2x4xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] {mpmd.reduce = #mpmd.reduction<max>} : (tensor<2x4xf32>, tensor<f32>) -> !t
  return %1 : !t
}

// Operands are repeated up to a limit.
// CHECK-LABEL: func @doubled_sums_do_not_grow_without_end
func.func @doubled_sums_do_not_grow_without_end(%a: !t, %b: !t) -> !t {
  // ALL:      %[[R:[0-9]+]] = mpmd.reduce<add> {{.*}}arg1, %{{[0-9]+}} :
  // ALL-NEXT: %[[S:.*]] = mpmd.reduce<add> %[[R]], %[[R]] :
  // ALL-NEXT: return %[[S]]
  %0 = stablehlo.add %a, %b {mpmd.reduce = #mpmd.reduction<add>} : !t
  %1 = stablehlo.add %0, %0 {mpmd.reduce = #mpmd.reduction<add>} : !t
  %2 = stablehlo.add %1, %1 {mpmd.reduce = #mpmd.reduction<add>} : !t
  %3 = stablehlo.add %2, %2 {mpmd.reduce = #mpmd.reduction<add>} : !t
  %4 = stablehlo.add %3, %3 {mpmd.reduce = #mpmd.reduction<add>} : !t
  %5 = stablehlo.add %4, %4 {mpmd.reduce = #mpmd.reduction<add>} : !t
  return %5 : !t
}

// A reduce has operands of one type.
// CHECK-LABEL: func @sum_over_encodings_stays
func.func @sum_over_encodings_stays(%a: !t, %b: !t) -> !t {
  // ALL-NEXT: %[[SUM:.*]] = stablehlo.add %arg0, %arg1 {mpmd.reduce = {{.*}}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32, "e">
  // ALL-NEXT: mpmd.reduce<add> %arg0, %arg1
  // ALL-NEXT: stablehlo.add %[[SUM]], %{{.*}} : (tensor<4xf32, "e">, tensor<4xf32>) -> tensor<4xf32>
  %0 = stablehlo.add %a, %b {mpmd.reduce = #mpmd.reduction<add>} : (!t, !t) -> tensor<4xf32, "e">
  %1 = stablehlo.add %a, %b {mpmd.reduce = #mpmd.reduction<add>} : !t
  %2 = stablehlo.add %0, %1 {mpmd.reduce = #mpmd.reduction<add>} : (tensor<4xf32, "e">, !t) -> !t
  return %2 : !t
}

// A loop or branch runs on one mesh as a whole, and its sums with it.
// CHECK-LABEL: func @sums_in_loops_and_branches_stay
func.func @sums_in_loops_and_branches_stay(%i: tensor<i32>, %a: !t, %b: !t) -> (!t, !t) {
  // CHECK:      stablehlo.while
  // CHECK:      do {
  // CHECK-NEXT:   stablehlo.add %{{.*}} {mpmd.reduce = #mpmd.reduction<add>}
  // CHECK:      stablehlo.case
  // CHECK-NEXT:   stablehlo.add %{{.*}} {mpmd.reduce = #mpmd.reduction<add>}
  // ALL:        mpmd.reduce<add>
  %c = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%n = %i, %s = %a) : tensor<i32>, !t
  cond {
    %3 = stablehlo.compare LT, %n, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  } do {
    %3 = stablehlo.add %s, %b {mpmd.reduce = #mpmd.reduction<add>} : !t
    stablehlo.return %n, %3 : tensor<i32>, !t
  }
  %1 = "stablehlo.case"(%i) ({
    %3 = stablehlo.add %a, %b {mpmd.reduce = #mpmd.reduction<add>} : !t
    stablehlo.return %3 : !t
  }) : (tensor<i32>) -> !t
  %2 = stablehlo.add %0#1, %b {mpmd.reduce = #mpmd.reduction<add>} : !t
  return %1, %2 : !t, !t
}
