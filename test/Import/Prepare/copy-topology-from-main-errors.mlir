// RUN: mpmd-opt %s -mpmd-copy-topology-from-main -verify-diagnostics -split-input-file

func.func @reports_call_in_callee(%x: tensor<6xf32>) -> tensor<6xf32> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.call @calls_another(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func @calls_another(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{is in @calls_another, which is itself called by mpmd.call; run mpmd-inline-nested-calls first}}
  %0 = mpmd.call @last(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func @last(%x: tensor<6xf32>) -> tensor<6xf32> {
  return %x : tensor<6xf32>
}

// -----

func.func @calls_another(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{is in @calls_another, which is itself called by mpmd.call}}
  %0 = mpmd.call @last(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func @last(%x: tensor<6xf32>) -> tensor<6xf32> {
  return %x : tensor<6xf32>
}
func.func @reports_call_in_callee_before_it(%x: tensor<6xf32>) -> tensor<6xf32> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.call @calls_another(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @other_meshes_than_the_callee(%x: tensor<6xf32>) -> !mpmd.mesh_tensor<"m", tensor<6xf32>> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{calls @on_two_meshes, which does not verify with the topology of @other_meshes_than_the_callee}}
  %0 = mpmd.call @on_two_meshes(%x) : (tensor<6xf32>) -> !mpmd.mesh_tensor<"m", tensor<6xf32>>
  return %0 : !mpmd.mesh_tensor<"m", tensor<6xf32>>
}
func.func private @on_two_meshes(%x: tensor<6xf32>) -> !mpmd.mesh_tensor<"m", tensor<6xf32>> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>} {
  // expected-error@+1 {{mesh "n" is not in the topology of function @on_two_meshes}}
  %0 = mpmd.assign %x : (tensor<6xf32>) -> !mpmd.mesh_tensor<"n", tensor<6xf32>>
  %1 = mpmd.transfer %0 : (!mpmd.mesh_tensor<"n", tensor<6xf32>>) -> !mpmd.mesh_tensor<"m", tensor<6xf32>>
  return %1 : !mpmd.mesh_tensor<"m", tensor<6xf32>>
}
