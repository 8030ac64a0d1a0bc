// RUN: mpmd-opt %s -mpmd-call-inline -split-input-file -allow-unregistered-dialect | FileCheck %s
// RUN: mpmd-opt %s -mpmd-call-inline -split-input-file -allow-unregistered-dialect -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s --check-prefix=LOC

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// Attributes of the call go to fragments only and override theirs.
// CHECK-LABEL: func public @copies_bodies_and_gives_fragments_the_attributes_of_the_call
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func public @copies_bodies_and_gives_fragments_the_attributes_of_the_call(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[X]]
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m2", origin=["g"]> (%[[T]]) {call_counter = 3 : ui32, kept, note = "n"} (%
  // CHECK:      %[[U:.*]] = mpmd.transfer {note = "old"} %[[F]]
  // CHECK-NEXT: %[[V:.*]] = mpmd.transfer %[[U]]
  // CHECK-NEXT: %[[G:.*]] = mpmd.fragment<mesh="m2", origin=["g"]> (%[[V]]) {kept, note = "old"} (%
  // CHECK:      %[[W:.*]] = mpmd.transfer {note = "old"} %[[G]]
  // CHECK-NEXT: return %[[W]], %[[X]]
  %0:2 = mpmd.call @f(%x) {call_counter = 3 : ui32, note = "n"} : (!m1) -> (!m1, !m1)
  %1:2 = mpmd.call @f(%0#0) : (!m1) -> (!m1, !m1)
  return %1#0, %0#1 : !m1, !m1
}

// CHECK-LABEL: func private @f
// CHECK:         mpmd.fragment<mesh="m2", origin=["g"]> (%{{.*}}) {kept, note = "old"} (%
// LOC-LABEL: func public @copies
// LOC:       mpmd.fragment
// LOC:       loc(callsite(
func.func private @f(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  %0 = mpmd.transfer %x : (!m1) -> !m2
  %1 = mpmd.fragment<mesh="m2", origin=["g"]> (%0) {kept, note = "old"} (%a: !t) {
    mpmd.return %a : !t
  } : (!m2) -> !m2
  %2 = mpmd.transfer {note = "old"} %1 : (!m2) -> !m1
  return %2, %x : !m1, !m1
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func public @gives_nothing_to_copies_of_assigns_and_ops
func.func public @gives_nothing_to_copies_of_assigns_and_ops(%x: !t) -> !t
    attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.abs %{{[^ ]*}} : tensor
  // CHECK-NEXT: mpmd.assign %
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {call_counter = 1 : ui32} (%
  // CHECK:      mpmd.unassign %
  %0 = mpmd.call @f(%x) {call_counter = 1 : ui32} : (!t) -> !t
  return %0 : !t
}

// CHECK-LABEL: func public @inlines_calls_in_loops
func.func public @inlines_calls_in_loops(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.for
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   mpmd.assign
  // CHECK-NEXT:   mpmd.fragment
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%s: !t, %index: tensor<ui32>) {
    %1 = mpmd.call @f(%s) : (!t) -> !t
    mpmd.return %1 : !t
  } : !t
  return %0 : !t
}

// CHECK-LABEL: func @leaves_function_calls_alone
func.func @leaves_function_calls_alone(%x: !t) -> !t {
  // CHECK-NEXT: call @f
  %0 = func.call @f(%x) : (!t) -> !t
  return %0 : !t
}

func.func private @f(%x: !t) -> !t attributes {topology = #topology} {
  %0 = stablehlo.abs %x : !t
  %1 = mpmd.assign %0 : (!t) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=[]> (%1) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %3 = mpmd.unassign %2 : (!m1) -> !t
  return %3 : !t
}

// -----

// A callee without topology may call. Only calls of the input are inlined.
// CHECK-LABEL: func @keeps_call_in_a_copy
// CHECK-NEXT:    mpmd.call @keeps_call_in_a_copy
// CHECK-NEXT:    stablehlo.abs
// CHECK-NEXT:    stablehlo.abs
// CHECK-NEXT:    return
func.func @keeps_call_in_a_copy(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.call @keeps_call_in_a_copy(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.abs %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

!t = tensor<4xf32>

// A copy has branches and values that are defined further down, like the body.
// CHECK-LABEL: func public @copies_regions_with_branches
func.func public @copies_regions_with_branches(%x: !t) -> !t {
  // CHECK-SAME: (%[[X:.*]]: tensor
  // CHECK-NEXT: %[[R:.*]] = "test.region"() ({
  // CHECK-NEXT:   %[[V:.*]] = "test.make"(%[[X]])
  // CHECK-NEXT:   "test.branch"(%[[V]])[^[[BB:.*]]] :
  // CHECK-NEXT: ^[[BB]](%[[A:.*]]: tensor<4xf32>):
  // CHECK-NEXT:   "test.done"(%[[A]])
  // CHECK:      return %[[R]]
  %0 = mpmd.call @branches(%x) : (!t) -> !t
  return %0 : !t
}

func.func private @branches(%x: !t) -> !t {
  %0 = "test.region"() ({
    %1 = "test.make"(%x) : (!t) -> !t
    "test.branch"(%1)[^bb1] : (!t) -> ()
  ^bb1(%a: !t):
    "test.done"(%a) : (!t) -> ()
  }) : () -> !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func @reaches_fragments_in_loops_and_fragment_calls
func.func @reaches_fragments_in_loops_and_fragment_calls(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.for (%{{.*}}) {iterations = 2 : ui32} (
  // CHECK-NEXT:   mpmd.fragment<mesh="m1", origin=["f"]> (%{{.*}}) {arg_attrs = [{kept}], call_counter = 2 : ui32}
  // CHECK:      mpmd.fragment_call<mesh="m1", origin=["g"]> @body(%{{.*}}) {arg_attrs = [{kept}], call_counter = 2 : ui32, own}
  %0 = mpmd.call @f(%x) {arg_attrs = [{kept}], call_counter = 2 : ui32} : (!m1) -> !m1
  return %0 : !m1
}

func.func private @f(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%s: !m1, %index: tensor<ui32>) {
    %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%s) {call_counter = 0 : ui32} (%a: !t) {
      mpmd.return %a : !t
    } : (!m1) -> !m1
    mpmd.return %2 : !m1
  } : !m1
  %1 = mpmd.fragment_call<mesh="m1", origin=["g"]> @body(%0) {own} : (!m1) -> !m1
  return %1 : !m1
}

func.func private @body(%x: !t) -> !t attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : !t
}

// -----

!t = tensor<4xf32>

// The call in the second function has become a copy when that is copied itself.
// CHECK-LABEL: func private @inlines_in_module_order
// CHECK-NEXT:    stablehlo.abs
// CHECK-NEXT:    return
// CHECK-LABEL: func @caller
// CHECK-NEXT:    stablehlo.abs
// CHECK-NEXT:    return
func.func private @inlines_in_module_order(%x: !t) -> !t {
  %0 = mpmd.call @f(%x) : (!t) -> !t
  return %0 : !t
}
func.func @caller(%x: !t) -> !t {
  %0 = mpmd.call @inlines_in_module_order(%x) : (!t) -> !t
  return %0 : !t
}
func.func private @f(%x: !t) -> !t {
  %0 = stablehlo.abs %x : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>

// A stack of call sites grows at its outer end.
// LOC-LABEL: func @places_copies_at_the_call
// LOC-NEXT:    stablehlo.abs {{.*}} loc(callsite("f":1:2 at "call":9:9))
// LOC-NEXT:    stablehlo.abs {{.*}} loc(callsite("g":3:4 at callsite("h":5:6 at "call":9:9)))
func.func @places_copies_at_the_call(%x: !t) -> !t {
  %0 = mpmd.call @f(%x) : (!t) -> !t loc("call":9:9)
  return %0 : !t
}
func.func private @f(%x: !t) -> !t {
  %0 = stablehlo.abs %x : !t loc("f":1:2)
  %1 = stablehlo.abs %0 : !t loc(callsite("g":3:4 at "h":5:6))
  return %1 : !t
}

// -----

// CHECK-LABEL: func private @called_outside_of_functions
// CHECK:       mpmd.for {{.*}} (%[[A:.*]]: tensor<4xf32>, %{{.*}}: tensor<ui32>) {
// CHECK-NEXT:    mpmd.return %[[A]]
func.func private @called_outside_of_functions(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  return %x : tensor<4xf32>
}
%c = stablehlo.constant dense<1.0> : tensor<4xf32>
%r = mpmd.for (%c) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
  %0 = mpmd.call @called_outside_of_functions(%a) : (tensor<4xf32>) -> tensor<4xf32>
  mpmd.return %0 : tensor<4xf32>
} : tensor<4xf32>

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// What a fragment says of itself, no call says for it.
// CHECK-LABEL: func public @keeps_mesh_and_stage_of_fragments
func.func public @keeps_mesh_and_stage_of_fragments(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%{{.*}}) {note} (
  %0 = mpmd.call @f(%x) {mesh_name = "m2", note, stage_id = true} : (!m1) -> !m1
  return %0 : !m1
}
func.func private @f(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  return %0 : !m1
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

// Where the results of a call are kept says nothing of those of a fragment in it.
// CHECK-LABEL: func public @keeps_from_fragments_what_is_known_of_results
func.func public @keeps_from_fragments_what_is_known_of_results(%x: !m, %y: !m) -> (!m, !n) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"]> (%{{.*}}) {arg_attrs = [{a}, {b}]} (
  // CHECK:      mpmd.transfer %[[F]]
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
