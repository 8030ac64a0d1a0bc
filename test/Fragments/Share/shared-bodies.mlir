// RUN: mpmd-opt %s --mpmd-fragment-dce | FileCheck %s --check-prefix=DCE
// RUN: mpmd-opt %s --mpmd-copy-constants | FileCheck %s --check-prefix=CONSTANTS
// RUN: mpmd-opt %s --mpmd-simplify-program | FileCheck %s --check-prefix=SIMPLIFY
// RUN: mpmd-opt %s --mpmd-mark-offloaded-input-output | FileCheck %s --check-prefix=HOST
// RUN: mpmd-opt %s --mpmd-lower-to-fragment-calls | FileCheck %s --check-prefix=CALLS

// What passes do to bodies they do to shared ones: they look through the calls,
// and put the ops in their places where these change.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// The first fragment has a result that nothing uses, and with it an operand.
// DCE-LABEL: func @main
// DCE: mpmd.fragment<mesh="m", origin=["f"]> (%arg0)
// DCE-NEXT: stablehlo.custom_call @annotate_device_placement
// DCE-NEXT: stablehlo.constant
// DCE-NOT: stablehlo.cosine
// DCE: mpmd.fragment<mesh="m", origin=["f"]>
// DCE-NEXT: custom_call @mpmd.shared_body
// SIMPLIFY-LABEL: func @main
// SIMPLIFY: mpmd.fragment<mesh="m", origin=["f"]> (%arg0)
// SIMPLIFY-NEXT: stablehlo.constant
// SIMPLIFY-NEXT: stablehlo.custom_call @annotate_device_placement

// A constant goes to the front of the fragment that reads it.
// CONSTANTS-LABEL: func @main
// CONSTANTS: mpmd.fragment<mesh="m", origin=["f"]>
// CONSTANTS-NEXT: custom_call @mpmd.shared_body
// CONSTANTS: mpmd.fragment<mesh="m", origin=["f"]>
// CONSTANTS-NEXT: %[[C:.*]] = stablehlo.constant
// CONSTANTS-NEXT: stablehlo.custom_call @annotate_device_placement
// CONSTANTS-NEXT: stablehlo.constant
// CONSTANTS-NEXT: stablehlo.cosine %[[C]]

// HOST-LABEL: func @main
// HOST-COUNT-2: res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}, {}]

// CALLS-LABEL: func @main
// CALLS-COUNT-3: mpmd.fragment_call<mesh="m", origin=["f"]> @p0_f.main
// CALLS: func.func @p0_f.main
// CALLS-NEXT: stablehlo.custom_call @annotate_device_placement
// CALLS-NOT: func
func.func @main(%arg0: !m, %arg1: !m) -> (!m {mhlo.memory_kind = "pinned_host"}, !m, !m, !m, !m) attributes {topology = #topology} {
  %0:3 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %s:3 = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@shared_body], has_side_effect = true} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    mpmd.return %s#0, %s#1, %s#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!m, !m) -> (!m, !m, !m)
  %1:3 = mpmd.fragment<mesh="m", origin=["f"]> (%0#0, %0#1) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %s:3 = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@shared_body], has_side_effect = true} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    mpmd.return %s#0, %s#1, %s#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!m, !m) -> (!m, !m, !m)
  %2:3 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %p = stablehlo.custom_call @annotate_device_placement(%a) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<4xf32>) -> tensor<4xf32>
    %c = stablehlo.constant dense<1.0> : tensor<4xf32>
    %s = stablehlo.cosine %b : tensor<4xf32>
    mpmd.return %p, %c, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!m, !m) -> (!m, !m, !m)
  return %1#0, %1#1, %1#2, %2#1, %2#2 : !m, !m, !m, !m, !m
}
func.func private @shared_body(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {mpmd.shared_body} {
  %p = stablehlo.custom_call @annotate_device_placement(%a) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<4xf32>) -> tensor<4xf32>
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %s = stablehlo.cosine %b : tensor<4xf32>
  return %p, %c, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
