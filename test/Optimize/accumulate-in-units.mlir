// RUN: mpmd-opt %s -mpmd-accumulate-in-units -mpmd-fragment-dce | FileCheck %s
// RUN: mpmd-opt %s -mpmd-accumulate-in-units --remarks-filter=accumulate --remark-policy=all --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

!t = tensor<8xf32>
!m = !mpmd.mesh_tensor<"m", !t>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @each_adds_to_the_sum_before
func.func @each_adds_to_the_sum_before(%x: !m) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.fragment<mesh="m", origin=["f"(1)]> (%arg0) {call_counter = 0 : ui32}
  // CHECK-NEXT:   sine
  // CHECK-NEXT:   mpmd.return
  %0 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    %3 = stablehlo.sine %a : !t
    mpmd.return %3 : !t
  } : (!m) -> !m
  // CHECK:      %[[B:.*]] = mpmd.fragment<mesh="m", origin=["f"(1)]> (%arg0, %[[A]]) {call_counter = 1 : ui32} (%[[X:.*]]: {{.*}}, %[[SUM:.*]]: {{.*}}) {
  // CHECK-NEXT:   %[[G:.*]] = stablehlo.sine %[[X]]
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %[[SUM]], %[[G]]
  // CHECK-NEXT:   mpmd.return %[[S]]
  %1 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    %3 = stablehlo.sine %a : !t
    mpmd.return %3 : !t
  } : (!m) -> !m
  // CHECK:      %[[C:.*]] = mpmd.fragment<mesh="m", origin=["f"(1)]> (%[[B]], %arg0) {call_counter = 2 : ui32} (%[[SUM:.*]]: {{.*}}, %[[X:.*]]: {{.*}}) {
  // CHECK-NEXT:   %[[G:.*]] = stablehlo.sine %[[X]]
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %[[SUM]], %[[G]]
  // CHECK-NEXT:   mpmd.return %[[S]]
  // CHECK:      return %[[C]]
  %2 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%0, %1, %x) {call_counter = 2 : ui32} (%a: !t, %b: !t, %c: !t) {
    %3 = stablehlo.sine %c : !t
    %4 = stablehlo.add %a, %b : !t
    %5 = stablehlo.add %4, %3 : !t
    mpmd.return %5 : !t
  } : (!m, !m, !m) -> !m
  return %2 : !m
}

// CHECK-LABEL: func @in_manual_computations
func.func @in_manual_computations(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    %3 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>) {
      %4 = stablehlo.sine %p : tensor<4xf32>
      sdy.return %4 : tensor<4xf32>
    } : (!t) -> !t
    mpmd.return %3 : !t
  } : (!m) -> !m
  // CHECK:      {call_counter = 1 : ui32} (%[[X:.*]]: {{.*}}, %[[SUM:.*]]: {{.*}}) {
  // CHECK-NEXT:   sdy.manual_computation(%[[X]], %[[SUM]]) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] {{.*}} (%[[P:.*]]: tensor<4xf32>, %[[PS:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:     %[[G:.*]] = stablehlo.sine %[[P]]
  // CHECK-NEXT:     stablehlo.add %[[PS]], %[[G]] : tensor<4xf32>
  %1 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    %3 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>) {
      %4 = stablehlo.sine %p : tensor<4xf32>
      sdy.return %4 : tensor<4xf32>
    } : (!t) -> !t
    mpmd.return %3 : !t
  } : (!m) -> !m
  // CHECK:      {call_counter = 2 : ui32} (%[[SUM:.*]]: {{.*}}, %[[X:.*]]: {{.*}}) {
  // CHECK-NEXT:   sdy.manual_computation(%[[X]], %[[SUM]])
  // CHECK-NEXT:     %[[G:.*]] = stablehlo.sine
  // CHECK-NEXT:     stablehlo.add %{{.*}}, %[[G]] : tensor<4xf32>
  // CHECK-NOT:  stablehlo.add
  // CHECK:      return
  %2 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%0, %1, %x) {call_counter = 2 : ui32} (%a: !t, %b: !t, %c: !t) {
    %3 = sdy.manual_computation(%c) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>) {
      %6 = stablehlo.sine %p : tensor<4xf32>
      sdy.return %6 : tensor<4xf32>
    } : (!t) -> !t
    %4 = stablehlo.add %a, %b : !t
    %5 = stablehlo.add %4, %3 : !t
    mpmd.return %5 : !t
  } : (!m, !m, !m) -> !m
  return %2 : !m
}

// A sum of another stage, in the last fragment of the mesh.
// CHECK-LABEL: func @of_others
func.func @of_others(%x: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m) -> !m
  // CHECK: call_counter = 1
  // CHECK-NEXT: stablehlo.add
  %1 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m) -> !m
  // CHECK: origin=["g"(1)]
  // CHECK-NEXT: sine
  // CHECK-NEXT: mpmd.return
  %2:2 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x, %0, %1) {call_counter = 1 : ui32} (%a: !t, %b: !t, %c: !t) {
    %3 = stablehlo.sine %a : !t
    %4 = stablehlo.add %b, %c : !t
    mpmd.return %3, %4 : !t, !t
  } : (!m, !m, !m) -> (!m, !m)
  return %2#0, %2#1 : !m, !m
}

// What something else reads, units in another order, and terms of different results.
// CHECK-LABEL: func @left_alone
// CHECK-COUNT-3: stablehlo.add
// CHECK: return
// REMARK: remark: [Missed] not accumulated {{.*}}a sum of microbatches on mesh {{.*}} is added up at its end: they run in another order than they are added in
func.func @left_alone(%x: !m) -> (!m, !m, !m, !m) attributes {topology = #topology} {
  %0:3 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    mpmd.return %a, %a, %a : !t, !t, !t
  } : (!m) -> (!m, !m, !m)
  %1:3 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    mpmd.return %a, %a, %a : !t, !t, !t
  } : (!m) -> (!m, !m, !m)
  %2:3 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%0#0, %0#1, %0#2, %1#0, %1#1, %1#2) {call_counter = 1 : ui32} (%a: !t, %b: !t, %c: !t, %d: !t, %e: !t, %f: !t) {
    %3 = stablehlo.add %a, %d : !t
    %4 = stablehlo.add %e, %b : !t
    %5 = stablehlo.add %c, %c : !t
    %6 = stablehlo.multiply %5, %f : !t
    mpmd.return %3, %4, %6 : !t, !t, !t
  } : (!m, !m, !m, !m, !m, !m) -> (!m, !m, !m)
  return %2#0, %2#1, %2#2, %0#0 : !m, !m, !m, !m
}
