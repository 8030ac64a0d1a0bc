// RUN: mpmd-opt %s -split-input-file -sdy-export-named-computations | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @moves_body_to_function
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<4x4xf32>)
func.func @moves_body_to_function(%x: tensor<8xf32>, %y: tensor<4x4xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[F:[a-z_0-9]+]]:2 = call @f(%[[X]], %[[Y]])
  // CHECK-SAME:   {kept, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{}, {}]>]>}
  // CHECK-NEXT: return %[[F]]#0
  %0:2 = sdy.named_computation<"f">(%x, %y) in_shardings=[<@mesh, [{}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{}, {}]>] (%a: tensor<8xf32>, %b: tensor<4x4xf32>) {
    %1 = stablehlo.sine %a : tensor<8xf32>
    sdy.return %1, %b : tensor<8xf32>, tensor<4x4xf32>
  } {kept} : (tensor<8xf32>, tensor<4x4xf32>) -> (tensor<8xf32>, tensor<4x4xf32>)
  return %0#0 : tensor<8xf32>
}

// CHECK-LABEL: func private @f(
// CHECK-SAME:    %[[A:.*]]: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
// CHECK-SAME:    %[[B:.*]]: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
// CHECK-SAME:    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
// CHECK-SAME:        tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
// CHECK-NEXT:  %[[SINE:.*]] = stablehlo.sine %[[A]]
// CHECK-NEXT:  return %[[SINE]], %[[B]]

// -----

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @takes_shardings_of_edges
func.func @takes_shardings_of_edges(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[F:[a-z_0-9]+]] = call @f(%{{.*}}) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>}
  // CHECK-NEXT: return %[[F]]
  %0 = sdy.named_computation<"f">(%x) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] (%a: tensor<8xf32>) {
    %2 = sdy.data_flow_edge %a : tensor<8xf32>
    sdy.return %2 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x", ?}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func private @f(
// CHECK-SAME:    %[[A:.*]]: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>})
// CHECK-NEXT:  return %[[A]]

// -----

// CHECK-LABEL: func @makes_names_unique
// CHECK-NEXT:    call @[[FIRST:[a-z_0-9]+]](
// CHECK-NEXT:    call @[[OUTER:[a-z_0-9]+]](
func.func @makes_names_unique(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.named_computation<"f">(%x) (%a: tensor<8xf32>) {
    sdy.return %a : tensor<8xf32>
  } {sdy.original_func_name = "original"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.named_computation<"f">(%0) (%a: tensor<8xf32>) {
    %2 = sdy.named_computation<"makes_names_unique">(%a) (%b: tensor<8xf32>) {
      sdy.return %b : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    sdy.return %2 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Inner computations first.
// CHECK: func private @[[FIRST]](%{{.*}} attributes {sdy.original_func_name = "original"}
// CHECK: func private @[[INNER:[a-z_0-9]+]](
// CHECK: func private @[[OUTER]](
// CHECK-NEXT: call @[[INNER]](

// -----

// CHECK-LABEL: func @without_a_name
func.func @without_a_name(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: call @computation(
  %0 = sdy.named_computation<"">(%x) (%a: tensor<8xf32>) {
    sdy.return %a : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// What is in a module of its own could not call what is here.
// CHECK: module @apart
module @apart {
  func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    // CHECK: sdy.named_computation<"g">
    %0 = sdy.named_computation<"g">(%x) (%a: tensor<8xf32>) {
      sdy.return %a : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
