// RUN: mpmd-opt %s -mpmd-sink-create-token-into-fragments -verify-diagnostics -split-input-file

!token = !stablehlo.token
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @reports_returned_token(%t: !token) -> !token attributes {topology = #topology} {
  // expected-error@+1 {{token that is result #0 must stay within fragments of this function}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%t) (%k: !token) {
    mpmd.return %k : !token
  } : (!token) -> !token
  // expected-note@+1 {{this reads it}}
  return %0 : !token
}
