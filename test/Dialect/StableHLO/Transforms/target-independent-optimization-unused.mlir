// RUN: mpmd-opt %s -stablehlo-target-independent-optimization | FileCheck %s

//===----------------------------------------------------------------------===//
// Reductions and sorts
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @drops_reduction_that_nothing_uses
// CHECK-SAME:    (%{{.*}}: tensor<4xf32>, %[[Y:.*]]: tensor<4xi32>, %{{.*}}: tensor<f32>, %[[J:.*]]: tensor<i32>)
func.func @drops_reduction_that_nothing_uses(%x: tensor<4xf32>, %y: tensor<4xi32>, %i: tensor<f32>, %j: tensor<i32>) -> tensor<i32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.reduce(%[[Y]] init: %[[J]]) applies stablehlo.maximum across dimensions = [0] {kept}
  // CHECK-NEXT: return %[[R]]
  %0:2 = stablehlo.reduce(%x init: %i), (%y init: %j) across dimensions = [0] {kept} : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %1 = stablehlo.add %a, %b : tensor<f32>
    %2 = stablehlo.maximum %c, %d : tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }
  return %0#1 : tensor<i32>
}

// The index of the maximum is found by the maximum, not the reverse.
// CHECK-LABEL: func @keeps_reduction_that_another_one_needs
func.func @keeps_reduction_that_another_one_needs(%x: tensor<4xf32>, %y: tensor<4xi32>, %i: tensor<f32>, %j: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
  // CHECK-NEXT: %[[VALUE:.*]] = stablehlo.reduce(%arg0 init: %arg2) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  // CHECK:      %[[BOTH:.*]]:2 = stablehlo.reduce(%arg0 init: %arg2), (%arg1 init: %arg3)
  // CHECK:      return %[[VALUE]], %[[BOTH]]#1
  %0:2 = stablehlo.reduce(%x init: %i), (%y init: %j) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %2 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
    %4 = stablehlo.select %2, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
  }
  %1:2 = stablehlo.reduce(%x init: %i), (%y init: %j) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %2 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
    %4 = stablehlo.select %2, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
  }
  return %0#0, %1#1 : tensor<f32>, tensor<i32>
}

// A needs B, B needs C: all three stay for A.
// CHECK-LABEL: func @follows_chain_of_reductions
func.func @follows_chain_of_reductions(%x: tensor<4xf32>, %i: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: stablehlo.reduce(%arg0 init: %arg1), (%arg0 init: %arg1), (%arg0 init: %arg1) across
  %0:4 = stablehlo.reduce(%x init: %i), (%x init: %i), (%x init: %i), (%x init: %i) across dimensions = [0] : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
   reducer(%a: tensor<f32>, %a1: tensor<f32>) (%b: tensor<f32>, %b1: tensor<f32>) (%c: tensor<f32>, %c1: tensor<f32>) (%d: tensor<f32>, %d1: tensor<f32>) {
    %1 = stablehlo.add %a, %b1 : tensor<f32>
    %2 = stablehlo.add %b, %c1 : tensor<f32>
    %3 = stablehlo.add %c, %c1 : tensor<f32>
    %4 = stablehlo.add %d, %a1 : tensor<f32>
    stablehlo.return %1, %2, %3, %4 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %0#0 : tensor<f32>
}

// CHECK-LABEL: func @drops_sort_that_is_neither_used_nor_compared
func.func @drops_sort_that_is_neither_used_nor_compared(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[S:.*]]:2 = "stablehlo.sort"(%arg1, %arg2) <{dimension = 0 : i64, is_stable = false}> ({
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>):
  // CHECK-NEXT:   stablehlo.compare LT, %[[A]], %[[B]]
  // CHECK:      }) {kept}
  // CHECK-NEXT: return %[[S]]#1
  %0:3 = "stablehlo.sort"(%x, %y, %z) <{dimension = -1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>, %f: tensor<f32>):
    %unused = stablehlo.add %a, %b : tensor<f32>
    %1 = stablehlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {kept} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#2 : tensor<4xf32>
}

//===----------------------------------------------------------------------===//
// Tensors without elements
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @makes_empty_tensors_constants
func.func @makes_empty_tensors_constants(%x: tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<> : tensor<0x3xf32>
  // CHECK-NEXT: %[[R:.*]] = stablehlo.custom_call @foo(%[[C]])
  // CHECK-NEXT: return %[[C]], %[[R]]
  %0 = stablehlo.sine %x : tensor<0x3xf32>
  %1 = stablehlo.custom_call @foo(%0) : (tensor<0x3xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<0x3xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @leaves_empty_tensors_of_effects_alone
func.func @leaves_empty_tensors_of_effects_alone(%x: tensor<0x3xf32>) -> tensor<0x3xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.custom_call @foo(%arg0)
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.custom_call @foo(%x) {has_side_effect = true} : (tensor<0x3xf32>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}

// CHECK-LABEL: func @knows_what_empty_operands_leave
func.func @knows_what_empty_operands_leave(%x: tensor<0x3xf32>, %y: tensor<4x3xf32>, %s: tensor<f32>, %i: tensor<i32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<4x3xf32>) {
  // CHECK-NEXT: %[[P:.*]] = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %[[R:.*]] = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<3xf32>
  // CHECK-NEXT: return %[[P]], %[[R]], %arg1
  %0 = stablehlo.pad %x, %s, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = stablehlo.dynamic_update_slice %y, %x, %i, %i : (tensor<4x3xf32>, tensor<0x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<3xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: func @broadcasts_only_to_known_shape_and_same_type
func.func @broadcasts_only_to_known_shape_and_same_type(%x: tensor<0xf32>, %s: tensor<f32>, %y: tensor<0x3x2xf32>, %v: tensor<2xf32>) -> (tensor<?xf32>, tensor<f64>, tensor<3x2xf32>) {
  // CHECK-NOT: stablehlo.broadcast_in_dim
  // CHECK:     stablehlo.pad
  // CHECK:     stablehlo.reduce
  // CHECK:     stablehlo.reduce
  %0 = stablehlo.pad %x, %s, low = [2], high = [1], interior = [0] : (tensor<0xf32>, tensor<f32>) -> tensor<?xf32>
  %1 = stablehlo.reduce(%x init: %s) across dimensions = [0] : (tensor<0xf32>, tensor<f32>) -> tensor<f64>
   reducer(%a: tensor<f64>, %b: tensor<f64>) {
    %2 = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %2 : tensor<f64>
  }
  %3 = stablehlo.reduce(%y init: %v) across dimensions = [0] : (tensor<0x3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
   reducer(%a: tensor<2xf32>, %b: tensor<2xf32>) {
    %4 = stablehlo.add %a, %b : tensor<2xf32>
    stablehlo.return %4 : tensor<2xf32>
  }
  return %0, %1, %3 : tensor<?xf32>, tensor<f64>, tensor<3x2xf32>
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @switches_custom_calls_to_typed_ffi
func.func @switches_custom_calls_to_typed_ffi(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: stablehlo.custom_call @a(%arg0) {api_version = 4 : i32, backend_config = {n = 3 : i64}, has_side_effect = true, kept}
  %0 = stablehlo.custom_call @a(%x) {has_side_effect = true, kept, mhlo.backend_config = {n = 3 : i64}} : (tensor<4xf32>) -> tensor<4xf32>
  // Not with another configuration, not of another version.
  // CHECK-NEXT: stablehlo.custom_call @b(%arg0) {backend_config = "text", mhlo.backend_config = {n = 3 : i64}}
  %1 = stablehlo.custom_call @b(%x) {backend_config = "text", mhlo.backend_config = {n = 3 : i64}} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: stablehlo.custom_call @c(%arg0) {api_version = 2 : i32, mhlo.backend_config = {n = 3 : i64}}
  %2 = stablehlo.custom_call @c(%x) {api_version = 2 : i32, mhlo.backend_config = {n = 3 : i64}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Several pieces would have to be put together again.
// CHECK-LABEL: func @cuts_shared_concatenate_only_within_one_piece
func.func @cuts_shared_concatenate_only_within_one_piece(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<12xf32>, tensor<2xf32>, tensor<5xf32>) {
  // CHECK-NEXT: %[[C:.*]] = stablehlo.concatenate
  // CHECK-NEXT: %[[ONE:.*]] = stablehlo.slice %arg1 [1:3]
  // CHECK-NEXT: %[[TWO:.*]] = stablehlo.slice %[[C]] [2:7]
  %0 = stablehlo.concatenate %x, %y, %z, dim = 0 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  %1 = stablehlo.slice %0 [5:7] : (tensor<12xf32>) -> tensor<2xf32>
  %2 = stablehlo.slice %0 [2:7] : (tensor<12xf32>) -> tensor<5xf32>
  return %0, %1, %2 : tensor<12xf32>, tensor<2xf32>, tensor<5xf32>
}

// CHECK-LABEL: func @replaces_all_by_update_at_the_start
func.func @replaces_all_by_update_at_the_start(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[U:.*]] = stablehlo.dynamic_update_slice
  // CHECK-NEXT: return %arg1, %[[U]]
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %y, %zero : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  %1 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @leaves_gather_of_batched_index_alone
func.func @leaves_gather_of_batched_index_alone(%x: tensor<5x3xf32>) -> tensor<1x3xf32> {
  // CHECK: stablehlo.gather
  %i = stablehlo.constant dense<[2]> : tensor<1xi32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<1xi32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @loops_lose_the_shardings_of_captured_results
func.func @loops_lose_the_shardings_of_captured_results(%a: tensor<12x8xf32>, %b: tensor<i1>) -> tensor<12x8xf32> {
  // CHECK: stablehlo.while(%{{.*}} = %{{.*}}) : tensor<12x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {?}]>]>}
  %0:2 = stablehlo.while(%p = %b, %x = %a) : tensor<i1>, tensor<12x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@grid, []>, <@grid, [{"r"}, {?}]>]>}
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %1 = stablehlo.sine %x : tensor<12x8xf32>
    stablehlo.return %p, %1 : tensor<i1>, tensor<12x8xf32>
  }
  return %0#1 : tensor<12x8xf32>
}

// CHECK-LABEL: func @sorts_lose_the_shardings_of_unused_results
func.func @sorts_lose_the_shardings_of_unused_results(%a: tensor<12x8xf32>, %b: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // CHECK: }) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {}]>]>} : (tensor<12x8xf32>) -> tensor<12x8xf32>
  %0:2 = "stablehlo.sort"(%a, %b) <{dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"r"}, {}]>, <@grid, [{"c"}, {}]>]>} : (tensor<12x8xf32>, tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>)
  return %0#0 : tensor<12x8xf32>
}

// A rule maps the dimensions of operands, which the other op does not have.
// CHECK-LABEL: func @rules_stay_with_their_operands
func.func @rules_stay_with_their_operands(%a: tensor<12xf32>, %b: tensor<12xf32>) -> (tensor<12xf32>, tensor<12xf32>) {
  // CHECK-NOT: sdy.sharding_rule
  %zero = stablehlo.constant dense<-0.0> : tensor<12xf32>
  %0 = stablehlo.negate %a : tensor<12xf32>
  %1 = stablehlo.add %0, %zero {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i])->([i]) {i=12}>} : tensor<12xf32>
  %2:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<f32>, %q: tensor<f32>):
    %3 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i])->([i], [i]) {i=12}>} : (tensor<12xf32>, tensor<12xf32>) -> (tensor<12xf32>, tensor<12xf32>)
  return %1, %2#0 : tensor<12xf32>, tensor<12xf32>
}

// Values may depend on themselves there, without end.
// CHECK-LABEL: func @leaves_graph_regions_alone
func.func @leaves_graph_regions_alone(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      %[[Y:.*]] = stablehlo.transpose %[[Y]]
  // CHECK-NEXT: stablehlo.reshape
  builtin.module {
    %0 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.reshape %2 : (tensor<4x4xf32>) -> tensor<16xf32>
    %2 = stablehlo.reshape %1 : (tensor<16xf32>) -> tensor<4x4xf32>
    stablehlo.custom_call @f(%0, %2) {has_side_effect = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  }
  return %x : tensor<4x4xf32>
}
