// RUN: mpmd-opt %s -mpmd-erase-unused-callee-block-arguments -split-input-file | FileCheck %s

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// The unused argument goes without a result, the returned one with its result.
// CHECK-LABEL: func public @bypasses_calls
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
func.func public @bypasses_calls(%x: !t, %y: !t, %z: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.call @f(%[[Y]]) {call_counter = 0 : ui32, kept} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = mpmd.call @f(%[[A]]) {call_counter = 1 : ui32} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: return %[[X]], %[[B]]
  %0:2 = mpmd.call @f(%x, %y, %z) {call_counter = 0 : ui32, kept} : (!t, !t, !t) -> (!t, !t)
  %1:2 = mpmd.call @f(%0#0, %0#1, %z) {call_counter = 1 : ui32} : (!t, !t, !t) -> (!t, !t)
  return %1#0, %1#1 : !t, !t
}

// CHECK-LABEL: func private @f
// CHECK-SAME:    (%[[B:.*]]: tensor<4xf32> {mpmd.in}) -> (tensor<4xf32> {mpmd.out}) attributes
// CHECK-NEXT:    %[[S:.*]] = stablehlo.abs %[[B]]
// CHECK-NEXT:    return %[[S]]
func.func private @f(%a: !t {mpmd.gone}, %b: !t {mpmd.in}, %c: !t {mpmd.gone}) -> (!t {mpmd.gone}, !t {mpmd.out})
    attributes {topology = #topology} {
  %0 = stablehlo.abs %b : !t
  return %a, %0 : !t, !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func public @erases_callee_that_only_passes_on
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT:    return %[[X]], %[[Y]]
func.func public @erases_callee_that_only_passes_on(%x: !t, %y: !t) -> (!t, !t)
    attributes {topology = #topology} {
  %0:2 = mpmd.call @f(%x, %y) : (!t, !t) -> (!t, !t)
  %1:2 = mpmd.call @f(%0#0, %0#1) : (!t, !t) -> (!t, !t)
  return %1#0, %1#1 : !t, !t
}

// CHECK-NOT: @f
func.func private @f(%a: !t, %b: !t) -> (!t, !t) attributes {topology = #topology} {
  %0 = stablehlo.constant dense<1.0> : !t
  return %a, %b : !t, !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func public @removes_by_position
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
func.func public @removes_by_position(%x: !t) -> (!t, !t, !t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]]:2 = mpmd.call @f(%[[X]])
  // CHECK-NEXT: return %[[X]], %[[A]]#0, %[[X]], %[[A]]#1
  %0:4 = mpmd.call @f(%x, %x) : (!t, !t) -> (!t, !t, !t, !t)
  return %0#0, %0#1, %0#2, %0#3 : !t, !t, !t, !t
}

// The argument is returned twice and goes from both places; the computed value
// is returned twice and stays in both.
// CHECK-LABEL: func private @f
// CHECK-SAME:    (%[[B:.*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT:    %[[S:.*]] = stablehlo.abs %[[B]]
// CHECK-NEXT:    return %[[S]], %[[S]]
func.func private @f(%a: !t, %b: !t) -> (!t, !t, !t, !t) attributes {topology = #topology} {
  %0 = stablehlo.abs %b : !t
  return %a, %0, %a, %0 : !t, !t, !t, !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func public @bypasses_calls_in_loops
func.func public @bypasses_calls_in_loops(%x: !t, %y: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.for
  // CHECK-SAME:   (%[[S:[a-z0-9]*]]: tensor<4xf32>, %[[T:.*]]: tensor<4xf32>, %index
  // CHECK-NEXT:   %[[A:.*]] = mpmd.call @f(%[[S]])
  // CHECK-NEXT:   mpmd.return %[[A]], %[[T]]
  %0:2 = mpmd.for (%x, %y) {iterations = 2 : ui32} (%s: !t, %r: !t, %index: tensor<ui32>) {
    %1:2 = mpmd.call @f(%s, %r) : (!t, !t) -> (!t, !t)
    mpmd.return %1#0, %1#1 : !t, !t
  } : !t, !t
  return %0#0, %0#1 : !t, !t
}

func.func private @f(%a: !t, %b: !t) -> (!t, !t) attributes {topology = #topology} {
  %0 = stablehlo.abs %a : !t
  return %0, %b : !t, !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func public @leaves_uncalled_dead_called_and_foreign_callees_alone
func.func public @leaves_uncalled_dead_called_and_foreign_callees_alone(%x: !t) -> !t
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.call @dead_called
  // CHECK-NEXT: mpmd.call @used_by_op_that_is_dead
  // CHECK-NEXT: mpmd.call @without_topology
  // CHECK-NEXT: mpmd.call @called_by_func_call
  %0 = mpmd.call @dead_called(%x) : (!t) -> !t
  %1 = mpmd.call @used_by_op_that_is_dead(%x) : (!t) -> !t
  %2 = mpmd.call @without_topology(%1) : (!t) -> !t
  %3 = mpmd.call @called_by_func_call(%2) : (!t) -> !t
  return %3 : !t
}

func.func @caller(%x: !t) -> !t {
  %0 = func.call @called_by_func_call(%x) : (!t) -> !t
  return %0 : !t
}

// CHECK: func private @uncalled(%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func private @uncalled(%a: !t) -> !t attributes {topology = #topology} {
  return %a : !t
}
// CHECK: func private @dead_called(%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func private @dead_called(%a: !t) -> !t attributes {topology = #topology} {
  return %a : !t
}
// CHECK: func private @used_by_op_that_is_dead(%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func private @used_by_op_that_is_dead(%a: !t) -> !t attributes {topology = #topology} {
  %0 = stablehlo.abs %a : !t
  return %a : !t
}
// CHECK: func private @without_topology(%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func private @without_topology(%a: !t) -> !t {
  return %a : !t
}
// CHECK: func private @called_by_func_call(%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func private @called_by_func_call(%a: !t) -> !t attributes {topology = #topology} {
  return %a : !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// When the second callee comes up, nothing uses the results of its calls any
// more: it is as if it were not called.
// CHECK-LABEL: func public @visits_callees_in_module_order
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT:    mpmd.call @g(%[[X]], %[[Y]])
// CHECK-NEXT:    return %[[X]]
func.func public @visits_callees_in_module_order(%x: !t, %y: !t) -> !t
    attributes {topology = #topology} {
  %0 = mpmd.call @g(%x, %y) : (!t, !t) -> !t
  %1 = mpmd.call @f(%x, %0) : (!t, !t) -> !t
  return %1 : !t
}
// CHECK-NOT: @f
// CHECK:     func private @g(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
func.func private @f(%a: !t, %b: !t) -> !t attributes {topology = #topology} {
  return %a : !t
}
func.func private @g(%a: !t, %b: !t) -> !t attributes {topology = #topology} {
  %0 = stablehlo.abs %a : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// Of the calls of a function whose signature changes, none is left behind.
// CHECK-LABEL: func public @rebuilds_dead_calls_beside_live_ones
func.func public @rebuilds_dead_calls_beside_live_ones(%x: !t, %y: !t) -> !t
    attributes {topology = #topology} {
  // CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
  // CHECK-NEXT: mpmd.call @f(%[[Y]]) {dead}
  // CHECK-NEXT: mpmd.call @f(%[[Y]]) :
  %0 = mpmd.call @f(%x, %y) {dead} : (!t, !t) -> !t
  %1 = mpmd.call @f(%x, %y) : (!t, !t) -> !t
  return %1 : !t
}
func.func private @f(%a: !t, %b: !t) -> !t attributes {topology = #topology} {
  %0 = stablehlo.abs %b : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func public @leaves_callees_with_one_mesh_alone
func.func public @leaves_callees_with_one_mesh_alone(%x: !t, %y: !t) -> !t
    attributes {topology = #topology} {
  // CHECK: mpmd.call @f(%{{.*}}, %{{.*}}) :
  %0 = mpmd.call @f(%x, %y) : (!t, !t) -> !t
  return %0 : !t
}
func.func private @f(%a: !t, %b: !t) -> !t attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  %0 = stablehlo.abs %b : !t
  return %0 : !t
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func @keeps_calls_for_their_effects
// CHECK-SAME:    (%[[X:.*]]: tensor<f32>)
func.func @keeps_calls_for_their_effects(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.call @acts() {kept} : () -> ()
  // CHECK-NEXT: return %[[X]]
  %0 = mpmd.call @acts(%x) {kept} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK-LABEL: func private @acts()
func.func private @acts(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  // CHECK-NEXT: custom_call @act()
  stablehlo.custom_call @act() {has_side_effect = true} : () -> ()
  return %x : tensor<f32>
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// A function of that name in another module is another one.
// CHECK-LABEL: func public @bypasses_calls_of_its_module
// CHECK-NEXT:    return %arg0
func.func public @bypasses_calls_of_its_module(%x: !t) -> !t attributes {topology = #topology} {
  %0 = mpmd.call @f(%x) : (!t) -> !t
  return %0 : !t
}
func.func private @f(%x: !t) -> !t attributes {topology = #topology} {
  return %x : !t
}
module @inner {
  func.func private @f(%x: !t) -> !t attributes {topology = #topology} {
    %0 = stablehlo.negate %x : !t
    return %0 : !t
  }
  func.func public @g(%x: !t) -> !t attributes {topology = #topology} {
    // CHECK: %[[R:.*]] = mpmd.call @f(%{{.*}})
    // CHECK-NEXT: return %[[R]]
    %0 = mpmd.call @f(%x) : (!t) -> !t
    return %0 : !t
  }
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

// CHECK-LABEL: func public @keeps_entries_with_their_values
// CHECK-NEXT:    %[[R:.*]] = mpmd.call @h(%{{.*}}) {arg_attrs = [{b}], res_attrs = [{}]}
// CHECK-NEXT:    mpmd.transfer %[[R]]
func.func public @keeps_entries_with_their_values(%x: !m, %y: !m) -> (!m, !n) attributes {topology = #topology} {
  %0:2 = mpmd.call @h(%x, %y) {arg_attrs = [{a}, {b}], res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]} : (!m, !m) -> (!m, !m)
  %1 = mpmd.transfer %0#1 : (!m) -> !n
  return %0#0, %1 : !m, !n
}
func.func private @h(%x: !m, %y: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%y) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  return %x, %0 : !m, !m
}
