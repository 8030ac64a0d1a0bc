// RUN: mpmd-opt %s -mpmd-merge-user-fragments-into-scheduling-units -verify-diagnostics -split-input-file

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @reports_mixed_transpose_counts(%x: !m1) -> !m1 attributes {topology = #topology} {
  // expected-error@+1 {{user fragment mixes computations of several transpose counts}}
  %f = mpmd.fragment<mesh="m1", origin=["f", "f"(1)]> (%x) (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"(1)]> (%f) (%u: tensor<4xf32>) {
    mpmd.return %u : tensor<4xf32>
  } : (!m1) -> !m1
  %h = mpmd.fragment<mesh="m1", origin=["h"(1)]> (%f, %g) (%u: tensor<4xf32>, %v: tensor<4xf32>) {
    mpmd.return %v : tensor<4xf32>
  } : (!m1, !m1) -> !m1
  return %h : !m1
}
