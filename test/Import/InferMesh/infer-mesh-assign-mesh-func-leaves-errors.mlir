// RUN: mpmd-opt %s -mpmd-infer-mesh-assign-mesh-func-leaves=error-limit=1 -verify-diagnostics -split-input-file

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
#nowhere = #mpmd.meshes_with_origins<>

func.func @reports_output_without_mesh(%p: !t) -> !t attributes {topology = #topology} {
  %0 = stablehlo.sine %p {mpmd.src_set = #nowhere} : !t
  // expected-error@+1 {{Func output 0 has no mesh}}
  return %0 : !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
#nowhere = #mpmd.meshes_with_origins<>

func.func @reports_unused_result_without_mesh(%p: !t) attributes {topology = #topology} {
  // expected-error@+1 {{src_set must not be empty for an op whose results are unused}}
  %0 = stablehlo.sine %p {mpmd.src_set = #nowhere} : !t
  return
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
#nowhere = #mpmd.meshes_with_origins<>

func.func @reports_resultless_op_without_mesh(%p: !t) attributes {topology = #topology} {
  // expected-error@+1 {{src_set must not be empty for a resultless op}}
  stablehlo.custom_call @log(%p) {has_side_effect = true, mpmd.src_set = #nowhere} : (!t) -> ()
  return
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
#nowhere = #mpmd.meshes_with_origins<>

// expected-error@+1 {{Callee @reports_unused_input_without_mesh: unused input 0 has no mesh}}
func.func private @reports_unused_input_without_mesh(%p: !t {mpmd.src_set = #nowhere}) attributes {topology = #topology} {
  return
}

// -----

func.func public @reports_mpmd_function_as_decomposition(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{names the MPMD function @reports_mpmd_function_as_decomposition, whose values get meshes; expected an mpmd.call in a function with topology, or a function without one}}
  %0 = stablehlo.composite "a.b" %x {decomposition = @reports_mpmd_function_as_decomposition} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reports_set_of_unknown_mesh(%p: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{mesh "m6" is not in the topology}}
  %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<"m6">} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reports_set_of_unknown_mesh_without_results(%p: tensor<4xf32>) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{mesh "m6" is not in the topology}}
  sdy.sharding_group %p group_id=3 {mpmd.src_set = #mpmd.meshes_with_origins<"m6">} : tensor<4xf32>
  return
}
