// RUN: mpmd-opt %s -cse | FileCheck %s
// RUN: mpmd-opt %s -canonicalize | FileCheck %s --check-prefix=CANON

// CHECK-LABEL: func @drops_unused_operations_without_effects
func.func @drops_unused_operations_without_effects(%x: tensor<4xf32>, %s: tensor<1xi32>, %u: tensor<2xui64>) {
  // CHECK-NEXT: return
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  %1 = stablehlo.create_token : !stablehlo.token
  %2 = stablehlo.custom_call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>
  %4 = stablehlo.optimization_barrier %x : tensor<4xf32>
  %5:2 = stablehlo.rng_bit_generator %u, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return
}

// CHECK-LABEL: func @keeps_operations_with_effects
func.func @keeps_operations_with_effects(%x: tensor<f32>, %s: tensor<1xi32>, %t: !stablehlo.token) {
  // CHECK-NEXT: stablehlo.rng
  // CHECK-NEXT: stablehlo.custom_call @f
  // CHECK-NEXT: stablehlo.composite
  // CHECK-NEXT: stablehlo.infeed
  // CHECK-NEXT: stablehlo.send
  // CHECK-NEXT: return
  %0 = stablehlo.rng %x, %x, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @f(%x) {has_side_effect = true} : (tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.composite "a.b" %x {decomposition = @identity} : (tensor<f32>) -> tensor<f32>
  %3 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> !stablehlo.token
  %4 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  return
}

func.func private @identity(tensor<f32>) -> tensor<f32>

// CHECK-LABEL: func @merges_equal_tokens
func.func @merges_equal_tokens() -> (!stablehlo.token, !stablehlo.token) {
  // CHECK-NEXT: %[[TOKEN:.*]] = stablehlo.create_token
  // CHECK-NEXT: return %[[TOKEN]], %[[TOKEN]]
  %0 = stablehlo.create_token : !stablehlo.token
  %1 = stablehlo.create_token : !stablehlo.token
  return %0, %1 : !stablehlo.token, !stablehlo.token
}

// Sums commute for the short form of reduce only.
// CHECK-LABEL: func @keeps_the_order_of_operands
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CANON-LABEL: func @keeps_the_order_of_operands
// CANON-SAME:    (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @keeps_the_order_of_operands(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[C:.*]] = stablehlo.constant
  // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[X]], %[[Y]]
  // CHECK-NEXT: %[[SWAPPED:.*]] = stablehlo.add %[[Y]], %[[X]]
  // CHECK-NEXT: stablehlo.add %[[C]], %[[X]]
  // CANON: stablehlo.add %{{cst.*}}, %[[X]]
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.add %y, %x : tensor<4xf32>
  %2 = stablehlo.add %c, %x : tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CANON-LABEL: func @canonicalization_merges_and_moves_constants
func.func @canonicalization_merges_and_moves_constants(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CANON-NEXT: %[[C:.*]] = stablehlo.constant dense<1.000000e+00>
  // CANON-NEXT: %[[SUM:.*]] = stablehlo.add %[[X:.*]], %[[C]]
  // CANON-NEXT: stablehlo.multiply %[[SUM]], %[[C]]
  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %1 = stablehlo.add %x, %0 : tensor<4xf32>
  %2 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
