// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments="keep-units-alike=true merge-any-consumer=true" | FileCheck %s
// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments="keep-units-alike=true merge-sideways=true" | FileCheck %s --check-prefix=SIDEWAYS
// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments=merge-any-consumer=true | FileCheck %s --check-prefix=MERGED

!l = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!scalar = !mpmd.mesh_tensor<"m", tensor<f32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// What is computed once, before the first microbatch or after the last.

// CHECK-LABEL: func @parts_and_update
// CHECK-NEXT:    %[[PARTS:.*]]:2 = mpmd.fragment<mesh="m", origin=[]> (%arg0)
// CHECK:         %[[F0:.*]] = mpmd.fragment<mesh="m", origin=["f"]> (%[[PARTS]]#0) {call_counter = 0 : ui32}
// CHECK:         %[[F1:.*]] = mpmd.fragment<mesh="m", origin=["f"]> (%[[PARTS]]#1, %[[F0]]) {call_counter = 1 : ui32}
// CHECK:         mpmd.fragment<mesh="m", origin=[]> (%arg1, %[[F1]])
// SIDEWAYS-LABEL: func @parts_and_update
// SIDEWAYS:      mpmd.fragment<mesh="m", origin=[]>
// SIDEWAYS:      mpmd.fragment<mesh="m", origin=["f"]>
// SIDEWAYS:      mpmd.fragment<mesh="m", origin=["f"]>
// SIDEWAYS:      mpmd.fragment<mesh="m", origin=[]>
// MERGED-LABEL: func @parts_and_update
// MERGED-NEXT:   %[[F0:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) {call_counter = 0 : ui32}
// MERGED:        mpmd.fragment<mesh="m", origin=["f"]> ({{.*}}) {call_counter = 1 : ui32}
// MERGED-NOT:    mpmd.fragment
// MERGED-LABEL: func @one_microbatch
func.func @parts_and_update(%x: !m, %w: !m) -> !m attributes {topology = #topology} {
  %parts:2 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !l) {
    %0 = stablehlo.negate %a : !l
    %1 = stablehlo.abs %a : !l
    mpmd.return %0, %1 : !l, !l
  } : (!m) -> (!m, !m)
  %f0 = mpmd.fragment<mesh="m", origin=["f"]> (%parts#0) {call_counter = 0 : ui32} (%a: !l) {
    %0 = stablehlo.sine %a : !l
    mpmd.return %0 : !l
  } : (!m) -> !m
  %f1 = mpmd.fragment<mesh="m", origin=["f"]> (%parts#1, %f0) {call_counter = 1 : ui32} (%a: !l, %b: !l) {
    %0 = stablehlo.sine %a : !l
    %1 = stablehlo.add %0, %b : !l
    mpmd.return %1 : !l
  } : (!m, !m) -> !m
  %new = mpmd.fragment<mesh="m", origin=[]> (%w, %f1) (%a: !l, %b: !l) {
    %0 = stablehlo.subtract %a, %b : !l
    mpmd.return %0 : !l
  } : (!m, !m) -> !m
  return %new : !m
}

// One unit has no others that it could be like.

// CHECK-LABEL: func @one_microbatch
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"]> (%arg0)
// CHECK-NOT:     mpmd.fragment
func.func @one_microbatch(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !l) {
    %1 = stablehlo.negate %a : !l
    mpmd.return %1 : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) {call_counter = 0 : ui32} (%a: !l) {
    %2 = stablehlo.sine %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  return %1 : !m
}

// What lies between two units belongs to their microbatch.

// CHECK-LABEL: func @between_units
// CHECK-COUNT-4: mpmd.fragment<mesh="m", origin=["
// CHECK-NOT:     origin=[]
func.func @between_units(%x: !m, %y: !m) -> (!m, !m) attributes {topology = #topology} {
  %f0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    %0 = stablehlo.sine %a : !l
    mpmd.return %0 : !l
  } : (!m) -> !m
  %i0 = mpmd.fragment<mesh="m", origin=[]> (%f0) (%a: !l) {
    %0 = stablehlo.negate %a : !l
    mpmd.return %0 : !l
  } : (!m) -> !m
  %g0 = mpmd.fragment<mesh="m", origin=["g"]> (%i0) {call_counter = 0 : ui32} (%a: !l) {
    %0 = stablehlo.cosine %a : !l
    mpmd.return %0 : !l
  } : (!m) -> !m
  %f1 = mpmd.fragment<mesh="m", origin=["f"]> (%y) {call_counter = 1 : ui32} (%a: !l) {
    %0 = stablehlo.sine %a : !l
    mpmd.return %0 : !l
  } : (!m) -> !m
  %i1 = mpmd.fragment<mesh="m", origin=[]> (%f1) (%a: !l) {
    %0 = stablehlo.negate %a : !l
    mpmd.return %0 : !l
  } : (!m) -> !m
  %g1 = mpmd.fragment<mesh="m", origin=["g"]> (%i1) {call_counter = 1 : ui32} (%a: !l) {
    %0 = stablehlo.cosine %a : !l
    mpmd.return %0 : !l
  } : (!m) -> !m
  return %g0, %g1 : !m, !m
}

// A sum that is written after the units would keep all of their results until the
// end: each unit adds its own. Losses are scalars, and may wait.

// CHECK-LABEL: func @sum_and_losses
// CHECK:         %[[F1:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"]> ({{.*}}) {call_counter = 1 : ui32}
// CHECK:           stablehlo.add %{{.*}} : tensor<4xf32>
// CHECK:         mpmd.fragment<mesh="m", origin=[]> (%{{.*}}#1, %[[F1]]#{{[01]}})
// CHECK:           stablehlo.add %{{.*}} : tensor<f32>
func.func @sum_and_losses(%x: !m, %y: !m) -> (!m, !scalar) attributes {topology = #topology} {
  %f0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    %0 = stablehlo.sine %a : !l
    %1 = stablehlo.constant dense<1.0> : tensor<f32>
    mpmd.return %0, %1 : !l, tensor<f32>
  } : (!m) -> (!m, !scalar)
  %f1:2 = mpmd.fragment<mesh="m", origin=["f"]> (%y) {call_counter = 1 : ui32} (%a: !l) {
    %0 = stablehlo.sine %a : !l
    %1 = stablehlo.constant dense<1.0> : tensor<f32>
    mpmd.return %0, %1 : !l, tensor<f32>
  } : (!m) -> (!m, !scalar)
  %sum = mpmd.fragment<mesh="m", origin=[]> (%f0#0, %f1#0) (%a: !l, %b: !l) {
    %0 = stablehlo.add %a, %b : !l
    mpmd.return %0 : !l
  } : (!m, !m) -> !m
  %loss = mpmd.fragment<mesh="m", origin=[]> (%f0#1, %f1#1) (%a: tensor<f32>, %b: tensor<f32>) {
    %0 = stablehlo.add %a, %b : tensor<f32>
    mpmd.return %0 : tensor<f32>
  } : (!scalar, !scalar) -> !scalar
  return %sum, %loss : !m, !scalar
}
