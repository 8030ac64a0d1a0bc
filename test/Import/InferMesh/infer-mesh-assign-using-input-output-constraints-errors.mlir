// RUN: split-file %s %t
// RUN: mpmd-opt %t/range.mlir -mpmd-infer-mesh-assign-using-input-output-constraints=constraints=0:3 -verify-diagnostics
// RUN: mpmd-opt %t/mesh.mlir -mpmd-infer-mesh-assign-using-input-output-constraints=constraints=0:0 -verify-diagnostics -split-input-file

//--- range.mlir
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// expected-error@+1 {{constraint 0:3 does not fit function "reports_index_out_of_range", which has 1 inputs and 1 outputs}}
func.func @reports_index_out_of_range(%p: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  return %p : tensor<4xf32>
}

//--- mesh.mlir
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// expected-error@+1 {{mesh "zz" is not in the topology of function @reports_set_of_unknown_mesh}}
func.func @reports_set_of_unknown_mesh(%p: tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"zz">}) -> tensor<4xf32> attributes {topology = #topology} {
  return %p : tensor<4xf32>
}

// -----

!z = !mpmd.mesh_tensor<"zz", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// expected-error@+1 {{mesh "zz" is not in the topology of function @reports_output_on_unknown_mesh}}
func.func @reports_output_on_unknown_mesh(%p: tensor<4xf32>, %z: !z) -> !z attributes {topology = #topology} {
  return %z : !z
}

// -----

func.func @main(%p: tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"m1">}) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  return %p : tensor<4xf32>
}
func.func @reports_plain_call(%p: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{names the MPMD function @main, whose values get meshes}}
  %0 = func.call @main(%p) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
