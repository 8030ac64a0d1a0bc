// RUN: mpmd-opt %s -sdy-update-non-divisible-input-output-shardings -verify-diagnostics

!m = !mpmd.mesh_tensor<"m", tensor<8xf32>>
sdy.mesh @mesh = <["x"=2]>

func.func @reports_sharding_of_fragment_on_another_axis(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{sharding of argument 0: unknown axis name: "y"}}
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@mesh, [{"y"}]>]> (%a) (%x: tensor<8xf32>) {
    mpmd.return %x : tensor<8xf32>
  } : (!m) -> !m
  return %0 : !m
}
