// RUN: mpmd-opt %s -split-input-file -verify-diagnostics

// Whether values dominate their uses is verified after all ops, so what an op reads
// may be of one that is not verified, or that reads it in turn.

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>

"func.func"() <{function_type = (!m1) -> (), sym_name = "transfers_argument_of_unverified_function"}> ({
^bb0(%arg0: !m1):
  %0 = "mpmd.transfer"(%arg1) : (!m1) -> !m1
  // expected-error @+1 {{'func.func' op requires attribute 'function_type'}}
  "func.func"() <{sym_name = "inner"}> ({
  ^bb0(%arg1: !m1):
    "func.return"() : () -> ()
  }) : () -> ()
  "func.return"() : () -> ()
}) {topology = #mpmd.topology<<"m1": <["x"=2]>>>} : () -> ()

// -----

sdy.mesh @mesh = <["x"=2]>

"func.func"() <{function_type = () -> (), sym_name = "constrains_argument_of_unverified_function"}> ({
  %0 = "sdy.sharding_constraint"(%arg1) <{sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}> : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{'func.func' op requires attribute 'function_type'}}
  "func.func"() <{sym_name = "inner"}> ({
  ^bb0(%arg1: tensor<4xf32>):
    "func.return"() : () -> ()
  }) : () -> ()
  "func.return"() : () -> ()
}) : () -> ()

// -----

sdy.mesh @mesh = <["x"=2]>

"func.func"() <{function_type = () -> (), sym_name = "constrains_barriers_that_read_each_other"}> ({
  // expected-error @+1 {{operand #0 does not dominate this use}}
  %0 = "sdy.sharding_constraint"(%1) <{sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}> : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @+1 {{operand defined here (op in the same block)}}
  %1 = "sdy.propagation_barrier"(%2) <{allowed_direction = 0 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "sdy.propagation_barrier"(%1) <{allowed_direction = 0 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  "func.return"() : () -> ()
}) : () -> ()

// -----

sdy.mesh @mesh = <["x"=2]>

func.func @constrains_result_of_unverified_computation() {
  // expected-error @+1 {{'sdy.manual_computation' op requires attribute 'in_shardings'}}
  %0 = "sdy.manual_computation"() ({}) : () -> tensor<4xf32>
  %1 = "sdy.sharding_constraint"(%0) <{sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
