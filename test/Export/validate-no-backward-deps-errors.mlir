// RUN: mpmd-opt %s -mpmd-validate-no-backward-deps=fail-on-backward-deps=true -verify-diagnostics -split-input-file

!pb = !mpmd.mesh_tensor<"pb", tensor<4xf32>>
!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>, <"pb": <["x"=2]>>>

func.func @p0_f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<4xf32>
}
func.func @reports_backward_dependency(%a: !pb) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment_call<mesh="pb", origin=["f"]> @p0_f(%a) : (!pb) -> !pb
  %1 = mpmd.transfer %0 : (!pb) -> !pa
  // expected-error@+1 {{Detected backward dependency in a forward-only pipeline: "p0_f" mesh="pb" is read by "p0_f" mesh="pa"}}
  %2 = mpmd.fragment_call<mesh="pa", origin=["f"]> @p0_f(%1) : (!pa) -> !pa
  return %2 : !pa
}

// -----

!pb = !mpmd.mesh_tensor<"pb", tensor<4xf32>>
!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>, <"pb": <["x"=2]>>>

func.func @p0_f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<4xf32>
}
// expected-error@+1 {{Expected forward-only program, as fail-on-backward-deps demands, but the call of @p0_f has a transposed origin}}
func.func @reports_transposed_program(%a: !pb) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment_call<mesh="pb", origin=["f"]> @p0_f(%a) : (!pb) -> !pb
  %1 = mpmd.transfer %0 : (!pb) -> !pa
  %2 = mpmd.fragment_call<mesh="pa", origin=["f"(1)]> @p0_f(%1) : (!pa) -> !pa
  return %2 : !pa
}
