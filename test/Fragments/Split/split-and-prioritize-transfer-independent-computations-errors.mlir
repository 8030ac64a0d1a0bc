// RUN: mpmd-opt %s -mpmd-split-and-prioritize-transfer-independent-computations -verify-diagnostics

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func @reports_fragment_with_shardings(%x: !m1, %y: !m2) -> !m1 attributes {topology = #topology} {
  %t = mpmd.transfer %y : (!m2) -> !m1
  // expected-error@+1 {{fragment to split already has shardings}}
  %f = mpmd.fragment<mesh="m1", origin=["f"], out_shardings=[<@mesh, [{"x"}]>]> (%t, %x) (%u: tensor<4xf32>, %v: tensor<4xf32>) {
    %d = stablehlo.tanh %v : tensor<4xf32>
    %w = stablehlo.multiply %d, %u : tensor<4xf32>
    mpmd.return %w : tensor<4xf32>
  } : (!m1, !m1) -> !m1
  return %f : !m1
}
