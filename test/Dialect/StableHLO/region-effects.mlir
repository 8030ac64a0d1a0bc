// RUN: mpmd-opt %s -canonicalize | FileCheck %s
// RUN: mpmd-opt %s -cse | FileCheck %s --check-prefix=CSE

func.func private @observe(tensor<i32>) -> tensor<i1>

// CHECK-LABEL: func @inlines_branch_of_constant_index
// CHECK-SAME:    (%[[X:.*]]: tensor<2xf32>)
func.func @inlines_branch_of_constant_index(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %[[Y:.*]] = stablehlo.negate %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %i = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func @keeps_case_of_index_out_of_range
func.func @keeps_case_of_index_out_of_range(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: "stablehlo.case"
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func @keeps_case_whose_branch_returns_other_type
func.func @keeps_case_whose_branch_returns_other_type(%x: tensor<2xf32>) -> tensor<?xf32> {
  // CHECK: "stablehlo.case"
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func @drops_unused_loop_without_effects
func.func @drops_unused_loop_without_effects(%x: tensor<i32>, %p: tensor<i1>) {
  // CHECK-NEXT: return
  %0 = stablehlo.while(%iterArg = %x) : tensor<i32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %iterArg : tensor<i32>
  }
  return
}

// CHECK-LABEL: func @keeps_unused_loop_with_effects
func.func @keeps_unused_loop_with_effects(%x: tensor<i32>) {
  // CHECK: stablehlo.while
  // CHECK: func.call @observe
  %0 = stablehlo.while(%iterArg = %x) : tensor<i32>
  cond {
    %1 = func.call @observe(%iterArg) : (tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    stablehlo.return %iterArg : tensor<i32>
  }
  return
}

// CHECK-LABEL: func @keeps_unused_collectives
func.func @keeps_unused_collectives(%x: tensor<4xf32>) {
  // CHECK: "stablehlo.collective_permute"
  // CHECK: "stablehlo.all_gather"
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: func @drops_unused_contractions_and_gathers
func.func @drops_unused_contractions_and_gathers(%x: tensor<4x4xf32>, %i: tensor<2x1xi32>) {
  // CHECK-NEXT: return
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.cholesky %x : tensor<4x4xf32>
  %2 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 4>}> : (tensor<4x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  return
}

// CSE-LABEL: func @merges_equal_reductions
func.func @merges_equal_reductions(%x: tensor<4xf32>, %i: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CSE-NEXT: %[[R:.*]] = stablehlo.reduce
  // CSE-NEXT: return %[[R]], %[[R]]
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// CSE-LABEL: func @keeps_equal_collectives_apart
func.func @keeps_equal_collectives_apart(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CSE: %[[A:.*]] = "stablehlo.collective_permute"
  // CSE: %[[B:.*]] = "stablehlo.collective_permute"
  // CSE: return %[[A]], %[[B]]
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @keeps_branch_that_returns_the_result
func.func @keeps_branch_that_returns_the_result() {
  // CHECK: "stablehlo.case"
  builtin.module {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.case"(%i) ({
      stablehlo.return %0 : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    stablehlo.custom_call @f(%0) {has_side_effect = true} : (tensor<f32>) -> ()
  }
  return
}
