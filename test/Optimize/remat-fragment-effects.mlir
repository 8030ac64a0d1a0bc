// RUN: mpmd-opt %s -mpmd-remat-fragment -verify-diagnostics | FileCheck %s
// RUN: mpmd-opt %s -mpmd-remat-fragment=merge-remat-fragments=true -verify-diagnostics | FileCheck %s

!t = tensor<f32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<f32>>
#topology = #mpmd.topology<<"m1": <["x"=1]>>>

// CHECK-LABEL: func @keeps_what_is_drawn
func.func @keeps_what_is_drawn(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK:     %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:       stablehlo.rng
  // CHECK-NOT: stablehlo.rng
  // CHECK:     mpmd.fragment<mesh="m1", origin=["f"(1)]> (%[[F]], %{{.*}}) {call_counter = 0 : ui32}
  // CHECK-NOT: remat
  // expected-remark@+1 {{is not recomputed for its backward fragment, because it has effects, which would happen twice; its results are kept, and so are those of 1 other fragment}}
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    %l = stablehlo.constant dense<0.0> : !t
    %s = stablehlo.constant dense<> : tensor<0xi64>
    // expected-note@+1 {{this has effects}}
    %c = stablehlo.rng %l, %a, %s, distribution = UNIFORM : (!t, !t, tensor<0xi64>) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["h"]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    %c = stablehlo.custom_call @log(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) {call_counter = 0 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%0, %2) {call_counter = 0 : ui32} (%a: !t, %b: !t) {
    mpmd.return %a : !t
  } : (!m1, !m1) -> !m1
  %4 = mpmd.fragment<mesh="m1", origin=["h"(1)]> (%1) {call_counter = 0 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %3, %4 : !m1, !m1
}

// CHECK-LABEL: func @recomputes_annotations
func.func @recomputes_annotations(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: remat
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    %c = stablehlo.custom_call @Sharding(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) {call_counter = 0 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%0, %1) {call_counter = 0 : ui32} (%a: !t, %b: !t) {
    mpmd.return %b : !t
  } : (!m1, !m1) -> !m1
  return %2 : !m1
}
