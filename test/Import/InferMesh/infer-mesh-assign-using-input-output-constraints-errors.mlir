// RUN: mpmd-opt %s -mpmd-infer-mesh-assign-using-input-output-constraints=constraints=0:3 -verify-diagnostics

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// expected-error@+1 {{constraint 0:3 does not fit function "reports_index_out_of_range", which has 1 inputs and 1 outputs}}
func.func @reports_index_out_of_range(%p: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  return %p : tensor<4xf32>
}
