// RUN: mpmd-opt %s -mpmd-import-pipeline='name-to-mesh-assignment=up@p,down@q/1' -split-input-file | FileCheck %s
// RUN: not mpmd-opt %s -mpmd-import-pipeline='name-to-mesh-assignment=up@p' -split-input-file 2>&1 | FileCheck %s --check-prefix=UNASSIGNED

// UNASSIGNED: error: Top-level NamedComputation 'down' is not assigned to a mesh

!t = tensor<4xf32>
#topology = #mpmd.topology<<"p": <["d"=2]>>, <"q": <["d"=2]>>>

// A value that is threaded through a computation has the mesh of its real user.
// CHECK-LABEL: func @places_two_computations
// CHECK-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"p", tensor<4xf32>>, %[[Y:.*]]: !mpmd.mesh_tensor<"q", tensor<4xf32>>)
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"p", tensor<4xf32>>, !mpmd.mesh_tensor<"q", tensor<4xf32>>)
func.func @places_two_computations(%x: !t, %y: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="p", origin=["up"]> (%[[X]]) (%[[A:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   stablehlo.tanh %[[A]]
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[F]]
  // CHECK-NEXT: %[[G:.*]] = mpmd.fragment<mesh="q", origin=["down"], stage=1> (%[[T]], %[[Y]])
  // CHECK:      return %[[F]], %[[G]]
  %0:2 = mpmd.named_computation<"up"> (%x, %y) (%a: !t, %b: !t) {
    %2 = stablehlo.tanh %a : !t
    mpmd.return %2, %b : !t, !t
  } : (!t, !t) -> (!t, !t)
  %1 = mpmd.named_computation<"down"> (%0#0, %0#1) (%a: !t, %b: !t) {
    %2 = stablehlo.multiply %a, %b : !t
    mpmd.return %2 : !t
  } : (!t, !t) -> !t
  return %0#0, %1 : !t, !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"p": <["d"=2]>>, <"q": <["d"=2]>>>

// The loop is unrolled over the pieces of a stack, its calls are inlined, and
// callees are gone.
// CHECK-LABEL: func @inlines_calls_of_unrolled_loop
// CHECK-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"p", tensor<4xf32>>, %[[S0:.*]]: !mpmd.mesh_tensor<"p", {{.*}}>, %[[S1:.*]]: !mpmd.mesh_tensor<"p"
func.func @inlines_calls_of_unrolled_loop(%x: !t, %s0: tensor<1x4xf32>, %s1: tensor<1x4xf32>) -> !t attributes {topology = #topology} {
  // CHECK-NOT:  mpmd.for
  // CHECK-NOT:  stablehlo.concatenate
  // CHECK:      mpmd.fragment<mesh="p", origin=["up"]> ({{.*}}) {call_counter = 0 : ui32}
  // CHECK:      mpmd.fragment<mesh="p", origin=["up"]> ({{.*}}) {call_counter = 1 : ui32}
  // CHECK-NOT:  mpmd.call
  // CHECK-NOT:  unroll_counter
  // CHECK:      return
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %stack = stablehlo.concatenate %s0, %s1, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%y: !t, %index: tensor<ui32>) {
    %1 = stablehlo.dynamic_slice %stack, %index, %zero, sizes = [1, 4] : (tensor<2x4xf32>, tensor<ui32>, tensor<ui32>) -> tensor<1x4xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x4xf32>) -> !t
    %3 = mpmd.call @body(%y, %2) : (!t, !t) -> !t
    mpmd.return %3 : !t
  } : !t
  return %0 : !t
}

// CHECK-NOT: func.func
func.func @body(%x: !t, %y: !t) -> !t {
  %0 = mpmd.named_computation<"up"> (%x, %y, %x) (%a: !t, %b: !t, %c: !t) {
    %1 = stablehlo.multiply %a, %b : !t
    %2 = func.call @helper(%1, %c) : (!t, !t) -> !t
    mpmd.return %2 : !t
  } : (!t, !t, !t) -> !t
  return %0 : !t
}

func.func private @helper(%x: !t, %y: !t) -> !t {
  %0 = stablehlo.add %x, %y : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"p": <["d"=2]>>, <"q": <["d"=2]>>>

// Equal computations are merged before operands are, not after.
// CHECK-LABEL: func @keeps_computations_that_become_equal_late
func.func @keeps_computations_that_become_equal_late(%x: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="p", origin=["up"]> (%arg0) (%[[A:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   stablehlo.add %[[A]], %[[A]]
  // CHECK-NEXT:   stablehlo.add %[[A]], %[[A]]
  // CHECK-NEXT:   mpmd.return
  %r:2 = mpmd.named_computation<"up"> (%x, %x) (%a: !t, %b: !t) {
    %0 = stablehlo.add %a, %a : !t
    %1 = stablehlo.add %b, %b : !t
    mpmd.return %0, %1 : !t, !t
  } : (!t, !t) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"p": <["d"=2]>>, <"q": <["d"=2]>>>

// CHECK-LABEL: func @keeps_unused_argument
// CHECK-SAME:    (%{{.*}}: !mpmd.mesh_tensor<"q", tensor<4xf32>>, %{{.*}}: !mpmd.mesh_tensor<"p", tensor<4xf32>>)
func.func @keeps_unused_argument(%x: !t, %unused: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="q", origin=["down"], stage=1>
  %0 = mpmd.named_computation<"down"> (%x) (%a: !t) {
    %1 = stablehlo.negate %a : !t
    mpmd.return %1 : !t
  } : (!t) -> !t
  return %0 : !t
}
