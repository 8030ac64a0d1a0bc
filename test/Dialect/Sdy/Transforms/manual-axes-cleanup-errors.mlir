// RUN: mpmd-opt %s -sdy-manual-axes-cleanup -verify-diagnostics

func.func @reports_unknown_mesh() {
  // expected-error@+1 {{manual computation has manual axes and a body but no inputs or outputs}}
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"c"} () {
    %0 = stablehlo.constant dense<0.0> : tensor<f32>
    sdy.return
  } : () -> ()
  return
}
