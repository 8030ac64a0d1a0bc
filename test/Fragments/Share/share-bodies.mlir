// RUN: mpmd-opt %s --mpmd-share-bodies=min-ops=1 --split-input-file | FileCheck %s
// RUN: mpmd-opt %s --mpmd-share-bodies --split-input-file | FileCheck %s --check-prefix=LARGE

// What is known of a body without its ops is written in the fragments: the
// argument that is returned, the one that nothing reads, the value that is
// returned twice. Fragments on other meshes share, too.

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @equal
// CHECK: mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%arg0, %arg0, %arg0) {call_counter = 0 : ui32} (%[[A:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[R:.*]] = stablehlo.custom_call @mpmd.shared_body(%[[A]]) {called_computations = [@shared_body]} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: mpmd.return %[[C]], %[[R]], %[[R]] :
// CHECK: mpmd.fragment<mesh="m2", origin=["g"]>
// CHECK-NEXT: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@shared_body]}
// CHECK: return
// CHECK: func private @shared_body(%[[X:.*]]: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body}
// CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[X]]
// CHECK-NEXT: return %[[S]] : tensor<4xf32>
// LARGE-LABEL: func @equal
// LARGE-NOT: called_computations = [@shared_body
// LARGE-LABEL: func @others
func.func @equal(%arg0: !m1, %arg1: !m2) -> (!m1, !m1, !m1, !m2, !m2, !m2) attributes {topology = #topology} {
  %0:3 = mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%arg0, %arg0, %arg0) {call_counter = 0 : ui32} (%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %c, %s, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!m1, !m1, !m1) -> (!m1, !m1, !m1)
  %1:3 = mpmd.fragment<mesh="m2", origin=["g"]> (%arg1, %arg1, %arg1) (%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %c, %s, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!m2, !m2, !m2) -> (!m2, !m2, !m2)
  return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2 : !m1, !m1, !m1, !m2, !m2, !m2
}

// -----

// Bodies that nothing equals, that have effects, and that return an argument
// twice stay.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @others
// CHECK-NOT: shared_body
func.func @others(%arg0: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.cosine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @act(%a) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["f"]> (%1) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @act(%a) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %3:3 = mpmd.fragment<mesh="m", origin=["f"]> (%2) (%a: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %a, %s, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m, !m)
  %4:3 = mpmd.fragment<mesh="m", origin=["f"]> (%3#1) (%a: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %a, %s, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m, !m)
  return %4#0, %4#1, %4#2 : !m, !m, !m
}

// -----

// Upstream must not drop a collective, so it must not drop its fragment either.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @collectives
// CHECK-COUNT-2: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@shared_body], has_side_effect = true}
// CHECK: func private @shared_body
func.func @collectives(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%a: tensor<4xf32>) {
    %s = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  return %1 : !m
}
sdy.mesh @mesh = <["x"=2]>

// -----

// A function that is there and has come to return an argument takes and returns
// less, and the fragments forward what they return.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @again
// CHECK: %[[F:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1) (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[R:.*]] = stablehlo.custom_call @mpmd.shared_body(%[[A]]) {called_computations = [@body]}
// CHECK-NEXT: mpmd.return %[[R]], %[[B]]
// CHECK: return %[[F]]#0, %arg1
// CHECK: func private @body(%[[X:.*]]: tensor<4xf32>) -> tensor<4xf32>
func.func @again(%arg0: !m, %arg1: !m) -> (!m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %s:2 = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@body]} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    mpmd.return %s#0, %s#1 : tensor<4xf32>, tensor<4xf32>
  } : (!m, !m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}
func.func private @body(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {mpmd.shared_body} {
  %s = stablehlo.sine %a : tensor<4xf32>
  return %s, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// Calls that return nothing but arguments go, also several of one fragment.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @drops_several_calls_that_return_arguments
// CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%[[A:.*]]: tensor<4xf32>)
// CHECK-NEXT: mpmd.return %[[A]], %[[A]]
// CHECK-NOT: mpmd.shared_body
func.func @drops_several_calls_that_return_arguments(%arg0: !m) -> (!m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
    %t = stablehlo.custom_call @mpmd.shared_body(%s) {called_computations = [@other]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s, %t : tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}
func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  return %a : tensor<4xf32>
}
func.func private @other(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  return %a : tensor<4xf32>
}

// -----

// Fragments of a module within a function share none with those around it.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @outer
// CHECK:         module
// CHECK:           custom_call @mpmd.shared_body(%{{.*}}) {called_computations = [@inner]}
// CHECK:           stablehlo.sine
// CHECK:         stablehlo.sine
func.func @outer(%x: !m) -> !m attributes {topology = #topology} {
  builtin.module {
    func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
      %0 = stablehlo.negate %a : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @f(%y: !m) -> !m attributes {topology = #topology} {
      %0 = mpmd.fragment<mesh="m", origin=["f"]> (%y) (%a: tensor<4xf32>) {
        %2 = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@inner]} : (tensor<4xf32>) -> tensor<4xf32>
        mpmd.return %2 : tensor<4xf32>
      } : (!m) -> !m
      %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%a: tensor<4xf32>) {
        %2 = stablehlo.sine %a : tensor<4xf32>
        mpmd.return %2 : tensor<4xf32>
      } : (!m) -> !m
      return %1 : !m
    }
  }
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    %1 = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
