// RUN: mpmd-opt %s -mpmd-hoist-invariant-computations=memory=600 -verify-diagnostics

!m = !mpmd.mesh_tensor<"m", tensor<8xf32>>
sdy.mesh @g = <["x"=2]>

func.func @reports_sharding_on_another_axis(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{sharding of result 0: unknown axis name: "y"}}
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"y"}]>]> (%a) (%x: tensor<8xf32>) {
    mpmd.return %x : tensor<8xf32>
  } : (!m) -> !m
  return %0 : !m
}
