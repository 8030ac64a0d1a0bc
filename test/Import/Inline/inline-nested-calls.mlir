// RUN: mpmd-opt %s -split-input-file -mpmd-inline-nested-calls | FileCheck %s

// A call without a counter becomes what it calls, and the inner counters count.
// CHECK-LABEL: func @inner_counters_count
// CHECK-SAME:    (%[[X:.*]]: tensor<f32>)
func.func @inner_counters_count(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: %[[G0:.*]] = mpmd.call @g(%[[X]]) {call_counter = 0 : ui32, note = "outer"}
  // CHECK-NEXT: %[[G1:.*]] = mpmd.call @g(%[[G0]]) {call_counter = 1 : ui32, note = "outer"}
  // CHECK-NEXT: %[[TANH:.*]] = stablehlo.tanh %[[G1]]
  // CHECK-NEXT: return %[[TANH]]
  %0 = mpmd.call @f(%x) {note = "outer"} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @g(%x) {call_counter = 0 : ui32} : (tensor<f32>) -> tensor<f32>
  %1 = mpmd.call @g(%0) {call_counter = 1 : ui32} : (tensor<f32>) -> tensor<f32>
  %2 = stablehlo.tanh %1 : tensor<f32>
  return %2 : tensor<f32>
}
// CHECK-NOT: @f
// CHECK: func private @g
// CHECK-NEXT: stablehlo.negate
func.func private @g(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// The callee of a call with a counter takes in what it calls, at any depth.
// CHECK-LABEL: func @outer_counter_counts
func.func @outer_counter_counts(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: mpmd.call @f(%{{.*}}) {call_counter = 3 : ui32}
  // CHECK-NEXT: return
  %0 = mpmd.call @f(%x) {call_counter = 3 : ui32} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: func private @f(%[[A:.*]]: tensor<f32>)
// CHECK-NEXT: %[[N:.*]] = stablehlo.negate %[[A]]
// CHECK-NEXT: %[[C:.*]] = stablehlo.cosine %[[N]]
// CHECK-NEXT: %[[T:.*]] = stablehlo.tanh %[[C]]
// CHECK-NEXT: return %[[T]]
// CHECK-NOT: func private
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @g(%x) {call_counter = 0 : ui32} : (tensor<f32>) -> tensor<f32>
  %1 = stablehlo.tanh %0 : tensor<f32>
  return %1 : tensor<f32>
}
func.func private @g(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @h(%x) : (tensor<f32>) -> tensor<f32>
  %1 = stablehlo.cosine %0 : tensor<f32>
  return %1 : tensor<f32>
}
func.func private @h(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// One function, called in both ways.
// CHECK-LABEL: func @with_and_without_counter
// CHECK-SAME:    (%[[X:.*]]: tensor<f32>)
func.func @with_and_without_counter(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: %[[F:.*]] = mpmd.call @f(%[[X]]) {call_counter = 3 : ui32}
  // CHECK-NEXT: %[[G:.*]] = mpmd.call @g(%[[F]]) {call_counter = 0 : ui32}
  // CHECK-NEXT: %[[T:.*]] = stablehlo.tanh %[[G]]
  // CHECK-NEXT: return %[[T]]
  %0 = mpmd.call @f(%x) {call_counter = 3 : ui32} : (tensor<f32>) -> tensor<f32>
  %1 = mpmd.call @f(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
// CHECK: func private @f
// CHECK-NEXT: stablehlo.negate
// CHECK-NEXT: stablehlo.tanh
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @g(%x) {call_counter = 0 : ui32} : (tensor<f32>) -> tensor<f32>
  %1 = stablehlo.tanh %0 : tensor<f32>
  return %1 : tensor<f32>
}
func.func private @g(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// A loop will count its calls.
// CHECK-LABEL: func @loop_counts
func.func @loop_counts(%x: tensor<f32>) -> tensor<f32> {
  // CHECK: mpmd.for
  // CHECK-NEXT: mpmd.call @f
  // CHECK-NEXT: mpmd.return
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%a: tensor<f32>, %index: tensor<ui32>) {
    %1 = mpmd.call @f(%a) : (tensor<f32>) -> tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: func private @f
// CHECK-NEXT: stablehlo.negate
// CHECK-NEXT: return
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @g(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @g(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Calls of one level stay as they are.
// CHECK-LABEL: func @one_level
func.func @one_level(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: mpmd.call @g
  // CHECK-NEXT: mpmd.call @g
  %0 = mpmd.call @g(%x) : (tensor<f32>) -> tensor<f32>
  %1 = mpmd.call @g(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @g(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Calls in a module within a function are of the functions there, whose names
// may be those of others.
// CHECK-LABEL: func @main
// CHECK-NEXT: mpmd.call @g(%{{.*}}) {call_counter = 0 : ui32}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @g(%x) {call_counter = 0 : ui32} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: func private @g
// CHECK-NEXT: builtin.module {
// CHECK-NEXT: func @g
// CHECK-NEXT: mpmd.call @g
// CHECK: stablehlo.negate
// CHECK-NEXT: return
func.func private @g(%x: tensor<f32>) -> tensor<f32> {
  builtin.module {
    func.func @g(%y: tensor<f32>) -> tensor<f32> {
      %0 = mpmd.call @g(%y) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
  %0 = mpmd.call @h(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @h(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func @keeps_meshes_of_fragments
func.func @keeps_meshes_of_fragments(%x: tensor<f32>) -> tensor<f32> attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> () {note} (
  %0 = mpmd.call @f(%x) {mesh_name = "m2", note} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  mpmd.fragment<mesh="m1", origin=["f"]> () () {
    mpmd.return
  } : () -> ()
  %0 = mpmd.call @g(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @g(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
