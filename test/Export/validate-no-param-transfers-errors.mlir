// RUN: mpmd-opt %s -mpmd-validate-no-param-transfers='fail-on-param-transfers=true param-pattern=w.b' -verify-diagnostics

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// The pattern is plain text.
func.func @reports_transfers_of_what_has_the_pattern(%w: !m1 loc("my w.b"), %v: !m1 loc("my wxb")) -> (!m2, !m2, !m2) attributes {topology = #topology} {
  // expected-error@+1 {{cross-mesh transfer of a parameter (a name with "w.b"), from mesh "m1" to mesh "m2"; JAX locations: ["my w.b"]}}
  %0 = mpmd.transfer %w : (!m1) -> !m2
  %1 = mpmd.transfer %v : (!m1) -> !m2
  // expected-error@+1 {{cross-mesh transfer of a parameter}}
  %2 = mpmd.transfer %w : (!m1) -> !m2
  return %0, %1, %2 : !m2, !m2, !m2
}
