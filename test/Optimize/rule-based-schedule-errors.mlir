// RUN: mpmd-opt %s -mpmd-rule-based-schedule -verify-diagnostics

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// expected-error@+1 {{two fragments fit the description FragmentInfo(origins=["f"],mesh_name="m0")}}
func.func @reports_fragments_that_rules_cannot_tell_apart(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  // expected-note@+1 {{this is one of them}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  // expected-note@+1 {{this is the other}}
  %1 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}
