// RUN: mpmd-opt %s -mpmd-map-named-ops-to-mpmd-ops='assignment=f@p,lost@r' -verify-diagnostics -split-input-file

!t = tensor<4xf32>
#topology = #mpmd.topology<<"p": <["d"=2]>>>

func.func @reports_every_unassigned_computation(%x: !t) -> !t attributes {topology = #topology} {
  // expected-error@+1 {{Top-level NamedComputation 'g' is not assigned to a mesh; add 'g@MESH' to the assignment}}
  %0 = mpmd.named_computation<"g"> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!t) -> !t
  // expected-error@+1 {{Top-level NamedComputation 'h' is not assigned to a mesh}}
  %1 = mpmd.named_computation<"h"> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!t) -> !t
  return %1 : !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"p": <["d"=2]>>, <"q": <["d"=2]>>>

func.func @reports_unknown_mesh(%x: !t) -> !t attributes {topology = #topology} {
  // expected-error@+1 {{Topology of function @reports_unknown_mesh has no mesh "r", to which 'lost' is assigned; known are "p", "q"}}
  %0 = mpmd.named_computation<"lost"> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!t) -> !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>

func.func @reports_missing_topology(%x: !t) -> !t attributes {mesh_shape = #sdy.mesh<["d"=2]>} {
  // expected-error@+1 {{Topology missing: 'f' is assigned to mesh "p", but function @reports_missing_topology has no topology attribute}}
  %0 = mpmd.named_computation<"f"> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!t) -> !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"p": <["d"=2]>>>

func.func @reports_nested_computation(%x: !t, %i: tensor<i32>) -> !t attributes {topology = #topology} {
  %0 = "stablehlo.case"(%i) ({
    // expected-error@+1 {{'f' must be at the top level of a function to be assigned to a mesh, but is nested in 'stablehlo.case'}}
    %1 = mpmd.named_computation<"f"> (%x) (%a: !t) {
      mpmd.return %a : !t
    } : (!t) -> !t
    stablehlo.return %1 : !t
  }) : (tensor<i32>) -> !t
  return %0 : !t
}

// -----

#topology = #mpmd.topology<<"p": <["d"=2]>>>

func.func @reports_token(%x: !stablehlo.token) -> !stablehlo.token attributes {topology = #topology} {
  // expected-error@+1 {{'f' cannot be assigned to mesh "p": expected ranked tensors only, but it takes or returns '!stablehlo.token'}}
  %0 = mpmd.named_computation<"f"> (%x) (%a: !stablehlo.token) {
    mpmd.return %a : !stablehlo.token
  } : (!stablehlo.token) -> !stablehlo.token
  return %0 : !stablehlo.token
}
