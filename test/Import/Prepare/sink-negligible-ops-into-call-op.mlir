// RUN: mpmd-opt %s -mpmd-sink-negligible-ops-into-call-op -split-input-file | FileCheck %s

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// The call without a used result neither prevents sinking nor changes.
// CHECK-LABEL: func @sinks_what_all_calls_with_used_results_pass
// CHECK-SAME:    (%[[X:.*]]: tensor<f32>
func.func @sinks_what_all_calls_with_used_results_pass(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.call @body(%[[X]]) {call_counter = 0 : ui32} : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %[[B:.*]] = mpmd.call @body(%[[A]]) {call_counter = 1 : ui32} : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: mpmd.call @body(%[[B]], %[[X]]) {call_counter = 2 : ui32} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: return %[[A]], %[[B]]
  %k = stablehlo.constant {note} dense<2.0> : tensor<f32>
  %dead = stablehlo.negate %x : tensor<f32>
  %0 = mpmd.call @body(%x, %k) {call_counter = 0 : ui32} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = mpmd.call @body(%0, %k) {call_counter = 1 : ui32} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %2 = mpmd.call @body(%1, %x) {call_counter = 2 : ui32} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
// CHECK-LABEL: func private @body
// CHECK-SAME:    (%[[P:.*]]: tensor<f32> {sdy.name = "p"}) -> tensor<f32>
func.func private @body(%p: tensor<f32> {sdy.name = "p"}, %q: tensor<f32> {sdy.name = "q"}) -> tensor<f32> attributes {topology = #topology} {
  // CHECK-NEXT: %[[K:.*]] = stablehlo.constant {note} dense<2.000000e+00> : tensor<f32>
  // CHECK-NEXT: %[[R:.*]] = stablehlo.power %[[P]], %[[K]]
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.power %p, %q : tensor<f32>
  return %0 : tensor<f32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func @sinks_one_clone_per_argument
func.func @sinks_one_clone_per_argument(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) attributes {topology = #topology} {
  // CHECK-NEXT: %[[K:.*]] = stablehlo.iota
  // CHECK-NEXT: %[[A:.*]]:3 = mpmd.call @body(%{{.*}}) : (tensor<4xi32>)
  // CHECK-NEXT: return %[[A]]#0, %[[A]]#1, %[[A]]#2, %[[K]]
  %k = stablehlo.iota dim = 0 : tensor<4xi32>
  %c = stablehlo.constant dense<1> : tensor<4xi32>
  %0:3 = mpmd.call @body(%k, %x, %k, %c) : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
  return %0#0, %0#1, %0#2, %k : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}
// CHECK-LABEL: func private @body
// CHECK-SAME:    (%[[P:.*]]: tensor<4xi32>)
func.func private @body(%a: tensor<4xi32>, %b: tensor<4xi32>, %c: tensor<4xi32>, %d: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.iota dim = 0
  // CHECK-NEXT: %[[C:.*]] = stablehlo.iota dim = 0
  // CHECK-NEXT: %[[D:.*]] = stablehlo.constant dense<1>
  // CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[P]], %[[C]]
  // CHECK-NEXT: return %[[A]], %[[S]], %[[D]]
  %s = stablehlo.add %b, %c : tensor<4xi32>
  return %a, %s, %d : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// Equal constants are not the same value; a negation has an operand. The dead
// op stays, since nothing is sunk.
// CHECK-LABEL: func @leaves_other_operands_alone
func.func @leaves_other_operands_alone(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {topology = #topology} {
  // CHECK: stablehlo.sine
  // CHECK: mpmd.call @body(%{{.*}}, %{{.*}}, %{{.*}})
  // CHECK: mpmd.call @body(%{{.*}}, %{{.*}}, %{{.*}})
  %k0 = stablehlo.constant dense<2.0> : tensor<f32>
  %k1 = stablehlo.constant dense<2.0> : tensor<f32>
  %n = stablehlo.negate %k0 : tensor<f32>
  %dead = stablehlo.sine %x : tensor<f32>
  %0 = mpmd.call @body(%k0, %n, %x) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = mpmd.call @body(%k1, %n, %x) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
// CHECK-LABEL: func private @body
// CHECK-SAME:    (%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>)
func.func private @body(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  %0 = stablehlo.add %a, %b : tensor<f32>
  %1 = stablehlo.add %0, %c : tensor<f32>
  return %1 : tensor<f32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func @sinks_into_calls_in_loops
func.func @sinks_into_calls_in_loops(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  // CHECK-NOT: stablehlo.constant
  // CHECK:     mpmd.call @body(%{{.*}}) : (tensor<f32>)
  %k = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%s: tensor<f32>, %index: tensor<ui32>) {
    %1 = mpmd.call @body(%s, %k) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    mpmd.return %1 : tensor<f32>
  } : tensor<f32>
  return %0 : tensor<f32>
}
// CHECK-LABEL: func private @body
// CHECK:         stablehlo.constant
func.func private @body(%p: tensor<f32>, %q: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  %0 = stablehlo.power %p, %q : tensor<f32>
  return %0 : tensor<f32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// The first argument goes, so the unused call would pass a tensor<i32> as the
// second one.
// CHECK-LABEL: func @adapts_unused_call_that_would_not_verify
// CHECK-SAME:    (%[[X:.*]]: tensor<f32>
func.func @adapts_unused_call_that_would_not_verify(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.call @body(%[[X]]) : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: mpmd.call @body(%[[X]]) : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: return %[[A]]
  %k = stablehlo.constant dense<2> : tensor<i32>
  %0 = mpmd.call @body(%k, %x) : (tensor<i32>, tensor<f32>) -> tensor<f32>
  %1 = mpmd.call @body(%k, %x) : (tensor<i32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @body(%p: tensor<i32>, %q: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  %0 = stablehlo.convert %p : (tensor<i32>) -> tensor<f32>
  %1 = stablehlo.add %0, %q : tensor<f32>
  return %1 : tensor<f32>
}

// -----

// CHECK-LABEL: func @leaves_functions_without_topology_alone
func.func @leaves_functions_without_topology_alone(%x: tensor<f32>) -> tensor<f32> {
  // CHECK: stablehlo.constant
  // CHECK: mpmd.call @body(%{{.*}}, %{{.*}})
  %k = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = mpmd.call @body(%x, %k) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @body(%p: tensor<f32>, %q: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.power %p, %q : tensor<f32>
  return %0 : tensor<f32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// What has effects stays where it is, and happens once.
// CHECK-LABEL: func @sinks_ops_without_operands_effects_and_other_results
func.func @sinks_ops_without_operands_effects_and_other_results(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  // CHECK-NEXT: %[[ACT:.*]] = stablehlo.custom_call @act() {has_side_effect = true}
  // CHECK-NEXT: stablehlo.custom_call @annotate_device_placement()
  // CHECK-NEXT: %[[TWO:.*]]:2 = stablehlo.custom_call @two()
  // CHECK-NEXT: mpmd.call @body(%[[TWO]]#0, %[[ACT]]) {kept} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %act = stablehlo.custom_call @act() {has_side_effect = true} : () -> tensor<f32>
  %one = stablehlo.custom_call @one() : () -> tensor<f32>
  %mark = stablehlo.custom_call @annotate_device_placement() {has_side_effect = true} : () -> tensor<f32>
  %two:2 = stablehlo.custom_call @two() : () -> (tensor<f32>, tensor<f32>)
  %0 = mpmd.call @body(%two#0, %one, %act, %mark) {kept} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK-LABEL: func private @body
// CHECK-SAME:    (%[[P:.*]]: tensor<f32>, %[[R:.*]]: tensor<f32>)
func.func private @body(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<f32>, %s: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  // CHECK-NEXT: %[[ONE:.*]] = stablehlo.custom_call @one()
  // CHECK-NEXT: %[[MARK:.*]] = stablehlo.custom_call @annotate_device_placement()
  // CHECK-NEXT: %[[A:.*]] = stablehlo.power %[[P]], %[[ONE]]
  // CHECK-NEXT: %[[B:.*]] = stablehlo.power %[[A]], %[[R]]
  // CHECK-NEXT: stablehlo.power %[[B]], %[[MARK]]
  %0 = stablehlo.power %p, %q : tensor<f32>
  %1 = stablehlo.power %0, %r : tensor<f32>
  %2 = stablehlo.power %1, %s : tensor<f32>
  return %2 : tensor<f32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// A call that is made for its effects counts, although nothing reads its result.
// CHECK-LABEL: func @call_with_effects_passes_another_constant
func.func @call_with_effects_passes_another_constant() -> tensor<f32> attributes {topology = #topology} {
  // CHECK: mpmd.call @acts(%{{.*}}) : (tensor<f32>)
  // CHECK: mpmd.call @acts(%{{.*}}) : (tensor<f32>)
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = mpmd.call @acts(%one) : (tensor<f32>) -> tensor<f32>
  %1 = mpmd.call @acts(%two) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @acts(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  %0 = stablehlo.custom_call @act(%x) {has_side_effect = true} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func @sinks_fragments
func.func @sinks_fragments(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.call @body(%{{.*}}) : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>)
  %k = mpmd.fragment<mesh="m1", origin=["f"]> () () {
    %c = stablehlo.constant dense<1.0> : tensor<4xf32>
    mpmd.return %c : tensor<4xf32>
  } : () -> !m1
  %0 = mpmd.call @body(%k, %x) : (!m1, !m1) -> !m1
  return %0 : !m1
}
// CHECK-LABEL: func private @body
// CHECK-SAME:    (%{{[^,]*}}: !mpmd.mesh_tensor<"m1", tensor<4xf32>>)
func.func private @body(%p: !m1, %q: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      return %[[K]]
  return %p : !m1
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// The dead op stays as well.
// CHECK-LABEL: func @leaves_callee_alone_whose_results_nothing_uses
func.func @leaves_callee_alone_whose_results_nothing_uses(%x: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.sine
  // CHECK-NEXT: %[[K:.*]] = stablehlo.constant
  // CHECK-NEXT: mpmd.call @body(%[[K]])
  // CHECK-NEXT: return
  %dead = stablehlo.sine %x : tensor<f32>
  %k = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = mpmd.call @body(%k) : (tensor<f32>) -> tensor<f32>
  return %x : tensor<f32>
}
// CHECK-LABEL: func private @body
// CHECK-SAME:    (%[[P:.*]]: tensor<f32>)
func.func private @body(%p: tensor<f32>) -> tensor<f32> attributes {topology = #topology} {
  // CHECK-NEXT: return %[[P]]
  return %p : tensor<f32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func @skips_declarations
func.func @skips_declarations() -> tensor<f32> attributes {topology = #topology} {
  // CHECK: mpmd.call @declared(%{{.*}})
  %k = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = mpmd.call @declared(%k) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @declared(tensor<f32>) -> tensor<f32> attributes {topology = #topology}

// -----

// Each of the two callees names the other; neither is an MPMD function.
// CHECK-LABEL: func private @leaves_calls_in_a_cycle_alone
func.func private @leaves_calls_in_a_cycle_alone(%p: tensor<f32>) -> tensor<f32> {
  // CHECK: mpmd.call @other(%{{.*}}, %{{.*}})
  %k = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = mpmd.call @other(%p, %k) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @other(%p: tensor<f32>, %q: tensor<f32>) -> tensor<f32> {
  %0 = mpmd.call @leaves_calls_in_a_cycle_alone(%q) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// A function of that name in another module is another one.
// CHECK-LABEL: func @leaves_calls_of_other_modules_alone
// CHECK-NEXT:    mpmd.call @f(%{{.*}}) : (tensor<8xf32>)
func.func @leaves_calls_of_other_modules_alone(%x: tensor<8xf32>) -> tensor<8xf32> attributes {topology = #topology} {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %1 = mpmd.call @f(%c, %x) : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f(%c: tensor<4xf32>, %x: tensor<8xf32>) -> tensor<8xf32> attributes {topology = #topology} {
  return %x : tensor<8xf32>
}
module @inner {
  func.func private @f(%c: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
    return %c : tensor<4xf32>
  }
  func.func public @g(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
    // CHECK: mpmd.call @f(%{{.*}}) : (tensor<4xf32>)
    %1 = mpmd.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

!t = tensor<8xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// Every call that is read has a say: in a branch, of a function on no meshes, and
// plain ones.
// CHECK-LABEL: func @keeps_operands_that_other_calls_pass
func.func @keeps_operands_that_other_calls_pass(%x: !t, %i: tensor<i32>) -> (!t, !t, !t, !t) attributes {topology = #topology} {
  // CHECK-COUNT-3: mpmd.call @{{[fgh]}}(%{{.*}}, %arg0) :
  %c = stablehlo.constant dense<1.0> : !t
  %d = stablehlo.constant dense<7.0> : !t
  %1 = mpmd.call @f(%c, %x) : (!t, !t) -> !t
  %2 = mpmd.call @g(%c, %x) : (!t, !t) -> !t
  %3 = mpmd.call @h(%c, %x) : (!t, !t) -> !t
  %4 = "stablehlo.case"(%i) ({
    // CHECK: mpmd.call @f(%{{.*}}, %{{.*}}) :
    %5 = mpmd.for (%x) {iterations = 2 : ui32} (%y: !t, %idx: tensor<ui32>) {
      %6 = mpmd.call @f(%d, %y) : (!t, !t) -> !t
      mpmd.return %6 : !t
    } : !t
    stablehlo.return %5 : !t
  }) : (tensor<i32>) -> !t
  return %1, %2, %3, %4 : !t, !t, !t, !t
}
// CHECK: func private @f(%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32>)
func.func private @f(%c: !t, %x: !t) -> !t attributes {topology = #topology} {
  %0 = stablehlo.add %c, %x : !t
  return %0 : !t
}
// CHECK: func private @g(%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32>)
func.func private @g(%c: !t, %x: !t) -> !t attributes {topology = #topology} {
  %0 = stablehlo.add %c, %x : !t
  return %0 : !t
}
// CHECK: func private @h(%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32>)
func.func private @h(%c: !t, %x: !t) -> !t attributes {topology = #topology} {
  %0 = stablehlo.add %c, %x : !t
  return %0 : !t
}
func.func @on_no_meshes(%x: !t) -> (!t, !t) {
  %c = stablehlo.constant dense<7.0> : !t
  %0 = mpmd.call @g(%c, %x) : (!t, !t) -> !t
  %1 = func.call @h(%c, %x) : (!t, !t) -> !t
  return %0, %1 : !t, !t
}
