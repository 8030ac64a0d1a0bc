// RUN: mpmd-opt %s -mpmd-restore-duplicate-operands | FileCheck %s

!l = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @zeros
// CHECK:         %[[ZEROS:.*]]:2 = mpmd.fragment<mesh="m", origin=[]> ()
// CHECK:           %[[ZERO:.*]] = stablehlo.constant
// CHECK-NEXT:      mpmd.return %[[ZERO]], %[[ZERO]]
// CHECK:         %[[FIRST:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%arg0, %[[ZEROS]]#1, %[[ZEROS]]#0) {call_counter = 0 : ui32} (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>)
// CHECK-NEXT:      %[[SUM:.*]] = stablehlo.add %[[A]], %[[B]]
// CHECK-NEXT:      %[[PRODUCT:.*]] = stablehlo.multiply %[[A]], %[[C]]
// CHECK-NEXT:      mpmd.return %[[SUM]], %[[PRODUCT]]
// CHECK:         mpmd.fragment<mesh="m", origin=["f"(1)]> (%arg1, %[[FIRST]]#0, %[[FIRST]]#1) {call_counter = 1 : ui32}
func.func @zeros(%x: !m, %y: !m) -> (!m, !m) attributes {topology = #topology} {
  %z = mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]} () {
    %0 = stablehlo.constant dense<0.0> : !l
    mpmd.return %0 : !l
  } : () -> !m
  %f0:2 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x, %z) {call_counter = 0 : ui32} (%a: !l, %b: !l) {
    %0 = stablehlo.add %a, %b : !l
    %1 = stablehlo.multiply %a, %b : !l
    mpmd.return %0, %1 : !l, !l
  } : (!m, !m) -> (!m, !m)
  %f1:2 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%y, %f0#0, %f0#1) {call_counter = 1 : ui32} (%a: !l, %b: !l, %c: !l) {
    %0 = stablehlo.add %a, %b : !l
    %1 = stablehlo.multiply %a, %c : !l
    mpmd.return %0, %1 : !l, !l
  } : (!m, !m, !m) -> (!m, !m)
  return %f1#0, %f1#1 : !m, !m
}

// Two kinds of units start from one zero: each writes over its own.

// CHECK-LABEL: func @two_kinds
// CHECK:         %[[ZEROS:.*]]:2 = mpmd.fragment<mesh="m", origin=[]> ()
// CHECK:         mpmd.fragment<mesh="m", origin=["f"(1)]> (%arg0, %[[ZEROS]]#1) {call_counter = 0 : ui32}
// CHECK:         mpmd.fragment<mesh="m", origin=["g"(1)]> (%arg0, %[[ZEROS]]#0) {call_counter = 0 : ui32}
func.func @two_kinds(%x: !m, %y: !m) -> (!m, !m) attributes {topology = #topology} {
  %z = mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]} () {
    %0 = stablehlo.constant dense<0.0> : !l
    mpmd.return %0 : !l
  } : () -> !m
  %f0 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x, %z) {call_counter = 0 : ui32} (%a: !l, %b: !l) {
    %0 = stablehlo.add %a, %b : !l
    mpmd.return %0 : !l
  } : (!m, !m) -> !m
  %g0 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x, %z) {call_counter = 0 : ui32} (%a: !l, %b: !l) {
    %0 = stablehlo.multiply %a, %b : !l
    mpmd.return %0 : !l
  } : (!m, !m) -> !m
  %f1 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%y, %f0) {call_counter = 1 : ui32} (%a: !l, %b: !l) {
    %0 = stablehlo.add %a, %b : !l
    mpmd.return %0 : !l
  } : (!m, !m) -> !m
  %g1 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%y, %g0) {call_counter = 1 : ui32} (%a: !l, %b: !l) {
    %0 = stablehlo.multiply %a, %b : !l
    mpmd.return %0 : !l
  } : (!m, !m) -> !m
  return %f1, %g1 : !m, !m
}

// What all units read is no start of a sum, and an argument twice has no other.

// CHECK-LABEL: func @same_for_all
// CHECK:         %[[C:.*]] = mpmd.fragment<mesh="m", origin=[]> ()
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %[[C]]) {call_counter = 0 : ui32}
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]> (%arg1, %[[C]]) {call_counter = 1 : ui32}
// CHECK:         mpmd.fragment<mesh="m", origin=["g"]> (%arg0) {call_counter = 0 : ui32}
func.func @same_for_all(%x: !m, %y: !m) -> (!m, !m, !m, !m) attributes {topology = #topology} {
  %c = mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]} () {
    %0 = stablehlo.constant dense<2.0> : !l
    mpmd.return %0 : !l
  } : () -> !m
  %f0 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %c) {call_counter = 0 : ui32} (%a: !l, %b: !l) {
    %0 = stablehlo.add %a, %b : !l
    mpmd.return %0 : !l
  } : (!m, !m) -> !m
  %f1 = mpmd.fragment<mesh="m", origin=["f"]> (%y, %c) {call_counter = 1 : ui32} (%a: !l, %b: !l) {
    %0 = stablehlo.add %a, %b : !l
    mpmd.return %0 : !l
  } : (!m, !m) -> !m
  %g0 = mpmd.fragment<mesh="m", origin=["g"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    %0 = stablehlo.multiply %a, %a : !l
    mpmd.return %0 : !l
  } : (!m) -> !m
  %g1 = mpmd.fragment<mesh="m", origin=["g"]> (%x, %y) {call_counter = 1 : ui32} (%a: !l, %b: !l) {
    %0 = stablehlo.multiply %a, %b : !l
    mpmd.return %0 : !l
  } : (!m, !m) -> !m
  return %f0, %f1, %g0, %g1 : !m, !m, !m, !m
}

// Another computation keeps its body.

// CHECK-LABEL: func @other_body
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %{{.*}}) {call_counter = 0 : ui32}
// CHECK-NEXT:      stablehlo.subtract
func.func @other_body(%x: !m, %y: !m) -> (!m, !m) attributes {topology = #topology} {
  %z = mpmd.fragment<mesh="m", origin=[]> () {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]} () {
    %0 = stablehlo.constant dense<0.0> : !l
    mpmd.return %0 : !l
  } : () -> !m
  %f0 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %z) {call_counter = 0 : ui32} (%a: !l, %b: !l) {
    %0 = stablehlo.subtract %a, %b : !l
    %1 = stablehlo.add %0, %b : !l
    mpmd.return %1 : !l
  } : (!m, !m) -> !m
  %f1 = mpmd.fragment<mesh="m", origin=["f"]> (%y, %x, %f0) {call_counter = 1 : ui32} (%a: !l, %b: !l, %c: !l) {
    %0 = stablehlo.add %a, %b : !l
    %1 = stablehlo.add %0, %c : !l
    mpmd.return %1 : !l
  } : (!m, !m, !m) -> !m
  return %f0, %f1 : !m, !m
}
