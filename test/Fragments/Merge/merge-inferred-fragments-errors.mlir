// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments -verify-diagnostics -split-input-file
// RUN: not mpmd-opt %s -mpmd-merge-inferred-fragments="merge-any-consumer=true merge-sideways=true" -split-input-file 2>&1 | FileCheck %s

// CHECK: merge-any-consumer and merge-sideways exclude each other; run the pass twice, once with each

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_stages_that_differ(%x: !m1) -> !m1 attributes {topology = #topology} {
  // expected-note @+1 {{the other fragment is here}}
  %0 = mpmd.fragment<mesh="m1", origin=[], stage=1> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  // expected-error @+1 {{fragment of stage 2 cannot be merged with one of stage 1}}
  %1 = mpmd.fragment<mesh="m1", origin=["f"], stage=2> (%0) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  return %1 : !m1
}
