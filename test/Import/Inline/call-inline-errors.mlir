// RUN: mpmd-opt %s -mpmd-call-inline -allow-unregistered-dialect -verify-diagnostics -split-input-file

func.func @reports_callee_without_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{callee @f is not a function whose body is one block that returns, which inlining needs}}
  %0 = mpmd.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @reports_call_that_passes_too_much(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{call has 2 operands and 1 results, but callee @f has 1 arguments and 1 results}}
  %0 = mpmd.call @f(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

func.func @reports_callee_on_other_meshes(%x: tensor<6xf32>) -> !mpmd.mesh_tensor<"m", tensor<6xf32>> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{calls @on_two_meshes, which does not verify with the topology of @reports_callee_on_other_meshes}}
  %0 = mpmd.call @on_two_meshes(%x) : (tensor<6xf32>) -> !mpmd.mesh_tensor<"m", tensor<6xf32>>
  return %0 : !mpmd.mesh_tensor<"m", tensor<6xf32>>
}
func.func private @on_two_meshes(%x: tensor<6xf32>) -> !mpmd.mesh_tensor<"m", tensor<6xf32>> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>} {
  // expected-error@+1 {{mesh "n" is not in the topology of function @on_two_meshes}}
  %0 = mpmd.assign %x : (tensor<6xf32>) -> !mpmd.mesh_tensor<"n", tensor<6xf32>>
  %1 = mpmd.transfer %0 : (!mpmd.mesh_tensor<"n", tensor<6xf32>>) -> !mpmd.mesh_tensor<"m", tensor<6xf32>>
  return %1 : !mpmd.mesh_tensor<"m", tensor<6xf32>>
}

// -----

func.func @reports_callee_on_meshes_without_any(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{calls @on_a_mesh, which does not verify without a topology, as there is none at the call}}
  %0 = mpmd.call @on_a_mesh(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @on_a_mesh(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{topology}}
  %0 = mpmd.assign %x : (tensor<4xf32>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>>
  %1 = mpmd.unassign %0 : (!mpmd.mesh_tensor<"m", tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @reports_callee_that_does_not_return(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{callee @f is not a function whose body is one block that returns, which inlining needs}}
  %0 = mpmd.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  "test.end"() : () -> ()
}
