// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments="clone-inferred-fragments=true max-cloned-ops=13" -o /dev/null
// RUN: not mpmd-opt %s -mpmd-merge-inferred-fragments="clone-inferred-fragments=true max-cloned-ops=12" 2>&1 | FileCheck %s

// A fragment that reads two, each of which reads two, and so on, grows exponentially.

!t = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

func.func @main(%x: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // CHECK: [[@LINE+1]]:8: error: cloning inferred fragments for all that read them makes more than 12 operations; {{.*}} option max-cloned-ops of the pass
  %0 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !t) {
    %4 = stablehlo.negate %a : !t
    mpmd.return %4 : !t
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=[]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=[]> (%1, %0) (%a: !t, %b: !t) {
    %4 = stablehlo.add %a, %b : !t
    mpmd.return %4 : !t
  } : (!m, !m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=[]> (%2, %1) (%a: !t, %b: !t) {
    %4 = stablehlo.add %a, %b : !t
    mpmd.return %4 : !t
  } : (!m, !m) -> !m
  return %3 : !m
}
