// RUN: mpmd-opt %s -mpmd-split-bwd-fragments -verify-diagnostics -split-input-file

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func @reports_fragment_with_shardings(%x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  // expected-error@+1 {{fragment to split already has shardings; split fragments before sharding propagation}}
  %f:2 = mpmd.fragment<mesh="m1", origin=["l"(1)], in_shardings=[<@mesh, [{"x"}]>]> (%x) (%u: tensor<4xf32>) {
    %a = stablehlo.abs %u : tensor<4xf32>
    %b = stablehlo.sine %u : tensor<4xf32>
    mpmd.return %b, %a : tensor<4xf32>, tensor<4xf32>
  } : (!m1) -> (!m1, !m1)
  %t = mpmd.transfer %f#1 : (!m1) -> !m2
  return %f#0, %t : !m1, !m2
}
