// RUN: mpmd-opt %s -mpmd-verify-placement -verify-diagnostics -split-input-file

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @accepts_fragments_and_transfers(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m1
  return %1 : !m1
}

func.func private @leaves_callees_alone(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @leaves_functions_without_topology_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_computation_outside_fragments(%x: !m1) -> !m1 attributes {topology = #topology} {
  // expected-error@+1 {{is not in a fragment after import; name the computation it belongs to}}
  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
  return %x : !m1
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// expected-error@+1 {{argument 0 of @reports_argument_without_mesh has no mesh after import}}
func.func @reports_argument_without_mesh(%x: tensor<4xf32>) attributes {topology = #topology} {
  return
}
