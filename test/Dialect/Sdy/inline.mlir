// RUN: mpmd-opt %s -inline | FileCheck %s

// Only func.return is known to end a function.
// CHECK-LABEL: func @keeps_calls
func.func @keeps_calls(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: call @by_sdy
  // CHECK-NEXT: call @by_stablehlo
  %0 = call @by_sdy(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @by_stablehlo(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
func.func private @by_sdy(%x: tensor<8xf32>) -> tensor<8xf32> {
  sdy.return %x : tensor<8xf32>
}
func.func private @by_stablehlo(%x: tensor<8xf32>) -> tensor<8xf32> {
  stablehlo.return %x : tensor<8xf32>
}
