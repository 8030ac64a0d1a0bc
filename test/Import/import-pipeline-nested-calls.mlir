// RUN: mpmd-opt %s -mpmd-import-pipeline='name-to-mesh-assignment=f@m1/0,g@m2/1' | FileCheck %s

#topology = #mpmd.topology<<"m1" : <["x"=1]>>, <"m2" : <["x"=1]>>>

// Fragments of both levels get the outermost counter.
// CHECK-LABEL: func @main
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {topology = #topology} {
  // CHECK-DAG: mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%{{.*}}) {call_counter = 0 : ui32
  // CHECK-DAG: mpmd.fragment<mesh="m2", origin=["g"], stage=1> (%{{.*}}) {call_counter = 0 : ui32
  // CHECK-DAG: mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%{{.*}}) {call_counter = 1 : ui32
  // CHECK-DAG: mpmd.fragment<mesh="m2", origin=["g"], stage=1> (%{{.*}}) {call_counter = 1 : ui32
  // CHECK-NOT: mpmd.call
  // CHECK: return
  %0 = mpmd.call @step(%x) {call_counter = 0 : ui32} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpmd.call @step(%y) {call_counter = 1 : ui32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) {
    %2 = stablehlo.tanh %a : tensor<4xf32>
    mpmd.return %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpmd.call @rest(%0) {call_counter = 7 : ui32} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @rest(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.named_computation<"g"> (%x) (%a: tensor<4xf32>) {
    %1 = stablehlo.tanh %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
