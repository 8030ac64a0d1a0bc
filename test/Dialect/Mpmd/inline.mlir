// RUN: mpmd-opt %s -inline | FileCheck %s
// RUN: mpmd-opt %s -pass-pipeline='builtin.module(inline{op-pipelines=func.func(canonicalize) max-iterations=2})' | FileCheck %s

// A function that calls only itself stays a call.
// CHECK-LABEL: func @main
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: call @itself
// CHECK-NEXT: return
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @f(%x) : (tensor<f32>) -> tensor<f32>
  %1 = call @itself(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
// CHECK-NOT: private @f(
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.tanh %x : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @itself(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @itself(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

#topology = #mpmd.topology<<"m": <["d"=2]>>>

// What is on the top level of a function or an mpmd.for does not come into a
// loop: the call of the function that holds it stays.
// CHECK-LABEL: func @calls_in_loop
// CHECK-NOT:   call @assigns
// CHECK:       mpmd.assign
// CHECK:       stablehlo.while
// CHECK:         func.call @calls_that
// CHECK-NEXT:    func.call @assigns
func.func @calls_in_loop(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> attributes {topology = #topology} {
  %0 = call @assigns(%x) : (tensor<f32>) -> tensor<f32>
  %1 = stablehlo.while(%a = %0) : tensor<f32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %2 = func.call @calls_that(%a) : (tensor<f32>) -> tensor<f32>
    %3 = func.call @assigns(%2) : (tensor<f32>) -> tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }
  return %1 : tensor<f32>
}
func.func private @calls_that(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @calls_others(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK-LABEL: func private @calls_others
// CHECK-NEXT:    mpmd.call @callee
func.func private @calls_others(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @callee(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @assigns(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  %0 = mpmd.assign %x : (tensor<f32>) -> !mpmd.mesh_tensor<"m", tensor<f32>>
  %1 = mpmd.unassign %0 : (!mpmd.mesh_tensor<"m", tensor<f32>>) -> tensor<f32>
  return %1 : tensor<f32>
}

// Nor does what is on a mesh come into a function that knows no meshes.
// CHECK-LABEL: func @knows_no_mesh
// CHECK-NEXT:    call @assigns
func.func @knows_no_mesh(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @assigns(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Nor a call into an MPMD function that is no entry point.
// CHECK-LABEL: func private @inner
// CHECK-NEXT:    call @calls_others
func.func private @inner(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  %0 = func.call @calls_others(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK-LABEL: func @outer
// CHECK-NEXT:    mpmd.call @inner
// CHECK-NEXT:    mpmd.for
// CHECK-NEXT:      mpmd.call @callee
func.func @outer(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  %0 = mpmd.call @inner(%x) : (tensor<f32>) -> tensor<f32>
  %1 = mpmd.for (%0) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%a: tensor<f32>, %i: tensor<ui32>) {
    %2 = func.call @calls_others(%a) : (tensor<f32>) -> tensor<f32>
    mpmd.return %2 : tensor<f32>
  } : tensor<f32>
  return %1 : tensor<f32>
}
func.func private @callee(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// Also not if it is in a loop of the callee.
// CHECK-LABEL: func @knows_no_mesh_either
// CHECK-NEXT:    call @assigns_in_loop
func.func @knows_no_mesh_either(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @assigns_in_loop(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK-LABEL: func @knows_the_mesh
// CHECK-NEXT:    mpmd.for
// CHECK-NEXT:      mpmd.assign
func.func @knows_the_mesh(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  %0 = func.call @assigns_in_loop(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @assigns_in_loop(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<f32>, %i: tensor<ui32>) {
    %1 = mpmd.assign %a : (tensor<f32>) -> !mpmd.mesh_tensor<"m", tensor<f32>>
    %2 = mpmd.unassign %1 : (!mpmd.mesh_tensor<"m", tensor<f32>>) -> tensor<f32>
    mpmd.return %2 : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}
