// RUN: mpmd-opt %s -mpmd-insert-nameless-clone-of-negligible-ops | FileCheck %s

!t = tensor<f32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func @does_not_repeat_effects
func.func @does_not_repeat_effects() -> (!t, !stablehlo.token) attributes {topology = #topology} {
  // CHECK:      %[[R:.*]]:4 = mpmd.named_computation<"f">
  // CHECK:        custom_call @launch
  // CHECK:        named_computation<"inner">
  // CHECK:          custom_call @launch
  // CHECK:      } : () -> (tensor<f32>, tensor<f32>
  // CHECK-NEXT: %[[K:.*]] = stablehlo.custom_call @annotated() : () -> tensor<f32>
  // CHECK-NEXT: %[[T:.*]] = stablehlo.create_token
  // CHECK-NEXT: %[[A:.*]] = stablehlo.add %[[R]]#0, %[[R]]#1
  // CHECK-NEXT: stablehlo.add %[[A]], %[[K]]
  // CHECK-NEXT: stablehlo.after_all %[[T]]
  %r:4 = mpmd.named_computation<"f"> () () {
    %0 = stablehlo.custom_call @launch() {has_side_effect = true} : () -> !t
    %1 = mpmd.named_computation<"inner"> () () {
      %4 = stablehlo.custom_call @launch() {has_side_effect = true} : () -> !t
      mpmd.return %4 : !t
    } : () -> !t
    %2 = stablehlo.custom_call @annotated() : () -> !t
    %3 = stablehlo.create_token : !stablehlo.token
    mpmd.return %0, %1, %2, %3 : !t, !t, !t, !stablehlo.token
  } : () -> (!t, !t, !t, !stablehlo.token)
  %5 = stablehlo.add %r#0, %r#1 : !t
  %6 = stablehlo.add %5, %r#2 : !t
  %7 = stablehlo.after_all %r#3 : !stablehlo.token
  return %6, %7 : !t, !stablehlo.token
}

// Its decomposition may draw.
// CHECK-LABEL: func @leaves_composite_alone
// CHECK-COUNT-1: stablehlo.composite
// CHECK-NOT:     stablehlo.composite
// CHECK:       func private @d
func.func @leaves_composite_alone() -> (tensor<4xf32>, tensor<4xf32>) attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.named_computation<"f"> () () {
    %3 = stablehlo.composite "a.b" {decomposition = @d} : () -> tensor<4xf32>
    mpmd.return %3 : tensor<4xf32>
  } : () -> tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}
func.func private @d() -> tensor<4xf32> {
  %0 = stablehlo.custom_call @draw() {has_side_effect = true} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
