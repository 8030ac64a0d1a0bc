// RUN: mpmd-opt %s --mpmd-share-bodies="in-callees min-ops=1" | FileCheck %s --check-prefix=ONCE
// RUN: mpmd-opt %s --mpmd-share-bodies="in-callees min-ops=1" --mpmd-call-inline=erase-callees | FileCheck %s --check-prefix=INLINED

// What is called twice has its bodies once, and copies of it have none.

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// ONCE-LABEL: func @main
// ONCE-COUNT-2: mpmd.call @twice
// ONCE-LABEL: func private @twice
// ONCE: mpmd.fragment
// ONCE-NEXT: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@shared_body]}
// ONCE-LABEL: func private @once
// ONCE: mpmd.fragment
// ONCE-NEXT: stablehlo.cosine
// ONCE: func private @shared_body
// ONCE-NEXT: stablehlo.sine

// INLINED-LABEL: func @main
// INLINED: mpmd.fragment<mesh="m", origin=["f"]> (%arg0) {call_counter = 0 : ui32}
// INLINED-NEXT: custom_call @mpmd.shared_body
// INLINED: mpmd.fragment<mesh="m", origin=["f"]> ({{.*}}) {call_counter = 1 : ui32}
// INLINED-NEXT: custom_call @mpmd.shared_body
// INLINED: mpmd.fragment
// INLINED-NEXT: stablehlo.cosine
// INLINED: func private @shared_body
func.func @main(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.call @twice(%arg0) {call_counter = 0 : ui32} : (!m) -> !m
  %1 = mpmd.call @twice(%0) {call_counter = 1 : ui32} : (!m) -> !m
  %2 = mpmd.call @once(%1) : (!m) -> !m
  return %2 : !m
}
func.func private @twice(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
func.func private @once(%arg0: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4xf32>) {
    %s = stablehlo.cosine %a : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
