// RUN: mpmd-opt %s -sdy-unflatten-call-graph | FileCheck %s
// RUN: mpmd-opt %s -sdy-unflatten-call-graph=dedup-functions-fully | FileCheck %s --check-prefix=FULLY

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @main
// FULLY-LABEL: func @main
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: call @f(
  // FULLY-NEXT: call @f(
  %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // Sharded alike.
  // CHECK-NEXT: call @f(
  // FULLY-NEXT: call @f(
  %1 = call @alike(%0) : (tensor<8xf32>) -> tensor<8xf32>
  // Sharded otherwise.
  // CHECK-NEXT: call @otherwise(
  // FULLY-NEXT: call @f(
  %2 = call @otherwise(%1) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: call @otherwise(
  // FULLY-NEXT: call @f(
  %3 = call @otherwise_too(%2) : (tensor<8xf32>) -> tensor<8xf32>
  // No clone of the same function.
  // CHECK-NEXT: call @of_another(
  // FULLY-NEXT: call @of_another(
  %4 = call @of_another(%3) : (tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

// CHECK-NOT: sdy.original_func_name
func.func private @f(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
func.func private @alike(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> attributes {sdy.original_func_name = "f"} {
  return %x : tensor<8xf32>
}
func.func private @otherwise(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "f"} {
  return %x : tensor<8xf32>
}
func.func private @otherwise_too(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "f"} {
  return %x : tensor<8xf32>
}
func.func private @of_another(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> attributes {sdy.original_func_name = "g"} {
  return %x : tensor<8xf32>
}
