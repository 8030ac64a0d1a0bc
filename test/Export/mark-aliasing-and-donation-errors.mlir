// RUN: mpmd-opt %s -mpmd-mark-aliasing-and-donation -verify-diagnostics -split-input-file

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @reports_operand_that_aliases_already(%a: !m {tf.aliasing_output = 0 : i32}) -> !m attributes {topology = #topology} {
  // expected-error@+1 {{operand #0 already has `tf.aliasing_output` in `arg_attrs`; fragments must not be marked before}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {arg_attrs = [{tf.aliasing_output = 0 : i32}]} (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

func.func @reports_operand_that_is_donated_already(%a: !m, %b: !m {jax.buffer_donor = true}) -> !m attributes {topology = #topology} {
  // expected-error@+1 {{operand #1 already has `jax.buffer_donor` in `arg_attrs`}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) {arg_attrs = [{}, {jax.buffer_donor = true}]} (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m, !m) -> !m
  return %0 : !m
}
