// RUN: mpmd-opt %s | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | mpmd-opt | FileCheck %s

// CHECK-LABEL: func @if_prints_generic
func.func @if_prints_generic(%p: tensor<i1>, %a: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: "stablehlo.if"(%{{.*}}) ({
  %0 = "stablehlo.if"(%p) ({
    // CHECK: stablehlo.return %{{.*}} : tensor<2xf32>
    stablehlo.return %a : tensor<2xf32>
  }, {
    // CHECK: stablehlo.return %{{.*}} {last} : tensor<2xf32>
    stablehlo.return %a {last} : tensor<2xf32>
  // CHECK: }) : (tensor<i1>) -> tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func @case_without_results
func.func @case_without_results(%i: tensor<i32>) {
  // CHECK: "stablehlo.case"(%{{.*}}) ({
  "stablehlo.case"(%i) ({
    // CHECK: stablehlo.return
    stablehlo.return
  // CHECK: }) : (tensor<i32>) -> ()
  }) : (tensor<i32>) -> ()
  return
}

// CHECK-LABEL: func @reduce_of_one_commutative_op_is_short
func.func @reduce_of_one_commutative_op_is_short(%x: tensor<2x7xi32>, %i: tensor<i32>) -> tensor<2xi32> {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.or across dimensions = [1] {note} : (tensor<2x7xi32>, tensor<i32>) -> tensor<2xi32>
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.or across dimensions = [1] {note} : (tensor<2x7xi32>, tensor<i32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// CHECK-LABEL: func @reduce_with_nothing_around_commas
func.func @reduce_with_nothing_around_commas(%x: tensor<2x7xi32>, %i: tensor<i32>) {
  // CHECK-COUNT-2: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [1] :
  %0 = stablehlo.reduce(%x init: %i), applies stablehlo.add across dimensions = [1] : (tensor<2x7xi32>, tensor<i32>) -> tensor<2xi32>
  %1 = stablehlo.reduce,,(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<2x7xi32>, tensor<i32>) -> tensor<2xi32>
  return
}

// CHECK-LABEL: func @reduce_of_other_op_is_long
func.func @reduce_of_other_op_is_long(%x: tensor<2x7xi32>, %i: tensor<i32>) -> tensor<i32> {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) across dimensions = [1, 0] : (tensor<2x7xi32>, tensor<i32>) -> tensor<i32>
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [1, 0] : (tensor<2x7xi32>, tensor<i32>) -> tensor<i32>
   // CHECK: reducer(%{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>)  {
   reducer(%a: tensor<i32>, %b: tensor<i32>)  {
    // CHECK: stablehlo.subtract %{{.*}}, %{{.*}} : tensor<i32>
    %1 = stablehlo.subtract %a, %b : tensor<i32>
    // CHECK: stablehlo.return %{{.*}} : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }
  return %0 : tensor<i32>
}

// CHECK-LABEL: func @reduce_with_swapped_operands_is_long
func.func @reduce_with_swapped_operands_is_long(%x: tensor<7xi32>, %i: tensor<i32>) -> tensor<i32> {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) across dimensions = [0] : (tensor<7xi32>, tensor<i32>) -> tensor<i32>
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<7xi32>, tensor<i32>) -> tensor<i32>
   // CHECK: reducer(%{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>)  {
   reducer(%a: tensor<i32>, %b: tensor<i32>)  {
    // CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<i32>
    %1 = stablehlo.add %b, %a : tensor<i32>
    // CHECK: stablehlo.return %{{.*}} : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }
  return %0 : tensor<i32>
}

// CHECK-LABEL: func @reduce_of_two_inputs_prints_pairs
func.func @reduce_of_two_inputs_prints_pairs(%x: tensor<7xi32>, %y: tensor<7xf16>, %i: tensor<i32>, %j: tensor<f16>) -> (tensor<i32>, tensor<f16>) {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}), (%{{.*}} init: %{{.*}}) across dimensions = [0] : (tensor<7xi32>, tensor<7xf16>, tensor<i32>, tensor<f16>) -> (tensor<i32>, tensor<f16>)
  %0:2 = stablehlo.reduce(%x init: %i), (%y init: %j) across dimensions = [0] : (tensor<7xi32>, tensor<7xf16>, tensor<i32>, tensor<f16>) -> (tensor<i32>, tensor<f16>)
   // CHECK: reducer(%{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>) (%{{.*}}: tensor<f16>, %{{.*}}: tensor<f16>)  {
   reducer(%a: tensor<i32>, %b: tensor<i32>) (%c: tensor<f16>, %d: tensor<f16>)  {
    // CHECK: stablehlo.return %{{.*}}, %{{.*}} : tensor<i32>, tensor<f16>
    stablehlo.return %b, %c : tensor<i32>, tensor<f16>
  }
  return %0#0, %0#1 : tensor<i32>, tensor<f16>
}

// CHECK-LABEL: func @reduce_window_and_map
func.func @reduce_window_and_map(%x: tensor<9xf32>, %i: tensor<f32>) -> tensor<3xf32> {
  // CHECK: "stablehlo.reduce_window"(%{{.*}}, %{{.*}}) <{base_dilations = array<i64: 1>, padding = dense<{{\[\[}}1, 0{{\]\]}}> : tensor<1x2xi64>, window_dilations = array<i64: 2>, window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  %0 = "stablehlo.reduce_window"(%x, %i) <{base_dilations = array<i64: 1>, padding = dense<[[1, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 2>, window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  // CHECK: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>):
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // CHECK: stablehlo.return %{{.*}} : tensor<f32>
    stablehlo.return %b : tensor<f32>
  // CHECK: }) : (tensor<9xf32>, tensor<f32>) -> tensor<3xf32>
  }) : (tensor<9xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func @sort_keeps_attributes
func.func @sort_keeps_attributes(%x: tensor<5xf32>, %y: tensor<5xi8>) -> tensor<5xi8> {
  // CHECK: "stablehlo.sort"(%{{.*}}, %{{.*}}) <{dimension = -1 : i64, is_stable = false}> ({
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = -1 : i64, is_stable = false}> ({
  // CHECK: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<i8>, %{{.*}}: tensor<i8>):
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i8>, %d: tensor<i8>):
    // CHECK: stablehlo.compare GT, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    // CHECK: stablehlo.return %{{.*}} : tensor<i1>
    stablehlo.return %1 : tensor<i1>
  // CHECK: }) : (tensor<5xf32>, tensor<5xi8>) -> (tensor<5xf32>, tensor<5xi8>)
  }) : (tensor<5xf32>, tensor<5xi8>) -> (tensor<5xf32>, tensor<5xi8>)
  return %0#1 : tensor<5xi8>
}

// CHECK-LABEL: func @map_of_two_inputs
func.func @map_of_two_inputs(%x: tensor<5x2xf32>, %y: tensor<5x2xi8>) -> tensor<5x2xi8> {
  // CHECK: "stablehlo.map"(%{{.*}}, %{{.*}}) <{dimensions = array<i64: 0, 1>}> ({
  %0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  // CHECK: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<i8>):
  ^bb0(%a: tensor<f32>, %b: tensor<i8>):
    // CHECK: stablehlo.return %{{.*}} : tensor<i8>
    stablehlo.return %b : tensor<i8>
  // CHECK: }) : (tensor<5x2xf32>, tensor<5x2xi8>) -> tensor<5x2xi8>
  }) : (tensor<5x2xf32>, tensor<5x2xi8>) -> tensor<5x2xi8>
  return %0 : tensor<5x2xi8>
}

// CHECK-LABEL: func @select_and_scatter_of_windows
func.func @select_and_scatter_of_windows(%x: tensor<6xf32>, %s: tensor<3xf32>, %i: tensor<f32>) -> tensor<6xf32> {
  // CHECK: "stablehlo.select_and_scatter"(%{{.*}}, %{{.*}}, %{{.*}}) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  // CHECK: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>):
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // CHECK: stablehlo.compare GE, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    // CHECK: stablehlo.return %{{.*}} : tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  // CHECK: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>):
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<f32>
    %1 = stablehlo.add %a, %b : tensor<f32>
    // CHECK: stablehlo.return %{{.*}} : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  // CHECK: }) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  }) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// CHECK-LABEL: func @while_body_takes_another_type
func.func @while_body_takes_another_type(%x: tensor<8xf32>, %p: tensor<i1>) -> tensor<8xf32> {
  // CHECK:      stablehlo.while(%[[I:.*]] = %arg0) : tensor<8xf32>
  // CHECK-NEXT: cond {
  // CHECK:      } do(%[[J:.*]]: tensor<*xf32>) {
  // CHECK-NEXT:   stablehlo.custom_call @f(%[[J]]) : (tensor<*xf32>) -> tensor<8xf32>
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<8xf32>):
    "stablehlo.return"(%p) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<*xf32>):
    %1 = stablehlo.custom_call @f(%a) : (tensor<*xf32>) -> tensor<8xf32>
    "stablehlo.return"(%1) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @while_results_of_another_type
func.func @while_results_of_another_type(%x: tensor<?xf32>, %y: tensor<2xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  // CHECK:      stablehlo.while(%{{.*}} = %arg0, %{{.*}} = %arg1) : tensor<?xf32>, tensor<2xf32> -> (tensor<4xf32>, tensor<2xf32>)
  %0:2 = "stablehlo.while"(%x, %y) ({
  ^bb0(%a: tensor<4xf32>, %b: tensor<2xf32>):
    "stablehlo.return"(%p) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>, %b: tensor<2xf32>):
    "stablehlo.return"(%a, %b) : (tensor<4xf32>, tensor<2xf32>) -> ()
  }) : (tensor<?xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  return %0#0 : tensor<4xf32>
}
