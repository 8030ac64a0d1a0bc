// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments=keep-forward-apart=true | FileCheck %s
// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments | FileCheck %s --check-prefix=MERGED

!l = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// The gradient does not depend on the output, and the last fragment has both the sum of
// the losses and the update.

// CHECK-LABEL: func @update
// MERGED-LABEL: func @update
func.func @update(%x: !m, %w: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  // CHECK:      %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1)
  // CHECK:      %[[B:.*]] = mpmd.fragment<mesh="m", origin=["f"(1)]> (%arg0)
  // CHECK:      mpmd.fragment<mesh="m", origin=[]> (%[[F]], %[[B]], 
  // MERGED:     %[[B:.*]] = mpmd.fragment<mesh="m", origin=["f"(1)]> (%arg0)
  // MERGED:     mpmd.fragment<mesh="m", origin=["f"]> ({{.*}}%[[B]]
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %w) {call_counter = 0 : ui32} (%a: !l, %b: !l) {
    %2 = stablehlo.multiply %a, %b : !l
    mpmd.return %2 : !l
  } : (!m, !m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    %2 = stablehlo.negate %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  %sent = mpmd.transfer %1 : (!m) -> !m
  %t = mpmd.transfer %w : (!m) -> !m
  %2:2 = mpmd.fragment<mesh="m", origin=[]> (%0, %1, %t) (%a: !l, %b: !l, %c: !l) {
    %3 = stablehlo.abs %a : !l
    %4 = stablehlo.subtract %c, %b : !l
    mpmd.return %3, %4 : !l, !l
  } : (!m, !m, !m) -> (!m, !m)
  return %2#0, %2#1, %sent : !m, !m, !m
}
