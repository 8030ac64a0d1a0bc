// RUN: mpmd-opt %s -mpmd-uniquify-function-inputs-outputs -verify-diagnostics -split-input-file
// RUN: mpmd-opt %s -mpmd-uniquify-function-inputs-outputs=use-transfer-instead-of-fragment=true -verify-diagnostics -split-input-file

#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @reports_argument_that_is_no_mesh_tensor(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  // expected-error@+1 {{result #0 has type 'tensor<4xf32>' but must be a mesh tensor to be copied; assign it to a mesh}}
  return %x : tensor<4xf32>
}

// -----

func.func @reports_mesh_that_only_the_signature_names(%arg0: !mpmd.mesh_tensor<"m2", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m2", tensor<4xf32>> attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{mesh "m2" is not in the topology of function @reports_mesh_that_only_the_signature_names}}
  return %arg0 : !mpmd.mesh_tensor<"m2", tensor<4xf32>>
}
