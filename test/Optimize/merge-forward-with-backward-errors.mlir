// RUN: mpmd-opt %s -mpmd-merge-forward-with-backward -verify-diagnostics -split-input-file

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_stages_that_differ(%x: !m1) -> !m1 attributes {topology = #topology} {
  // expected-note @+1 {{the other fragment is here}}
  %0 = mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  // expected-error @+1 {{fragment of stage 3 cannot be merged with one of stage 0; give both the same stage or leave out one of them}}
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=3> (%0) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  return %1 : !m1
}
