// RUN: mpmd-opt %s -mpmd-infer-mesh-rewrite-using-analysis -verify-diagnostics -split-input-file

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func private @reports_plain_call_of_itself(%p: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  // expected-error@+1 {{names the MPMD function @reports_plain_call_of_itself, whose values get meshes; expected an mpmd.call in a function with topology, or a function without one}}
  %0 = func.call @reports_plain_call_of_itself(%p) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
