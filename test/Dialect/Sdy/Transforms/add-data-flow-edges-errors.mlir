// RUN: mpmd-opt %s -sdy-add-data-flow-edges -verify-diagnostics -split-input-file

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

func.func @reports_sharding_of_argument_without_a_mesh(%x: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{sharding of argument 0: unknown mesh: @none}}
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@none, [{"x"}]>]> (%x) (%y: tensor<4xf32>) {
    mpmd.return %y : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

sdy.mesh @mesh = <["x"=2]>
func.func @reports_sharding_of_result_of_another_rank(%x: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{sharding of result 0: }}
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@mesh, [{"x"}, {}]>]> (%x) (%y: tensor<4xf32>) {
    mpmd.return %y : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
