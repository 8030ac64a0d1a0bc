// RUN: mpmd-opt %s -mpmd-lower-to-fragment-calls -verify-diagnostics -split-input-file

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>>

func.func @reports_fragment_in_loop(%a: !pa) -> !pa attributes {topology = #topology} {
  %0 = mpmd.for (%a) {iterations = 2 : ui32} (%i: !pa, %n: tensor<ui32>) {
    // expected-error@+1 {{fragment in a loop cannot become a call; unroll the loop first}}
    %1 = mpmd.fragment<mesh="pa", origin=["f"]> (%i) (%x: tensor<4xf32>) {
      mpmd.return %x : tensor<4xf32>
    } : (!pa) -> !pa
    mpmd.return %1 : !pa
  } : !pa
  return %0 : !pa
}

// -----

#topology = #mpmd.topology<<"pa": <["x"=2]>>>

func.func @reports_token(%a: !stablehlo.token) attributes {topology = #topology} {
  // expected-error@+1 {{fragment that takes or gives a token cannot become a call}}
  mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: !stablehlo.token) {
    mpmd.return
  } : (!stablehlo.token) -> ()
  return
}

// -----

#topology = #mpmd.topology<<"pa": <["x"=2]>>>

func.func @reports_unknown_mesh() attributes {topology = #topology} {
  // expected-error@+1 {{mesh "pc" is not in the topology}}
  mpmd.fragment<mesh="pc", origin=["f"]> () () {
    mpmd.return
  } : () -> ()
  return
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>>
sdy.mesh @grid = <["x"=2]>

func.func @main(%a: !pa) -> !pa attributes {topology = #topology} {
  // expected-error@+1 {{manual computations of this fragment need an `sdy.mesh` called @pa, but something else has that name}}
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %m = sdy.manual_computation(%x) in_shardings=[<@grid, [{"x"}]>] out_shardings=[<@grid, [{"x"}]>] manual_axes={"x"} (%i: tensor<2xf32>) {
      sdy.return %i : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %m : tensor<4xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}
// expected-note@+1 {{this has it; give it or the mesh another name}}
func.func private @pa()

// -----

func.func @reports_sharding_on_mesh_that_is_not_declared(%x: !mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@mesh, [{}]>>) attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{a type has a sharding on mesh @mesh, which this module does not declare; expected an sdy.mesh of that name}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@mesh, [{}]>>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@mesh, [{}]>>
  return
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

func.func @reports_attribute_that_no_argument_can_have(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{arg_attrs has the attribute "kept", which no argument or result of a function can have; expected the name of a dialect before it, and a dot}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {arg_attrs = [{kept}]} (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
sdy.mesh @mesh = <["x"=2]>

func.func @reports_manual_computation_on_another_mesh(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["y"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    // expected-error@+1 {{operand - unknown axis name: "x"; the mesh is #sdy.mesh<["y"=2]>}}
    %1 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%y: tensor<2xf32>) {
      sdy.return %y : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

sdy.mesh @mesh = <["x"=2]>
func.func @reports_sharding_that_does_not_fit_the_mesh_it_names(%x: !mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@mesh, [{"one"}]>>) attributes {topology = #mpmd.topology<<"m": <["x"=2, "one"=1]>>>} {
  // expected-error@+1 {{a type has a sharding that does not fit mesh @mesh, which it names: unknown axis name: "one"}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@mesh, [{"one"}]>>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@mesh, [{"one"}]>>
  return
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

func.func @reports_name_that_no_function_has(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{becomes a call of @p0_f.main, but something else has that name; expected a function of type '(tensor<4xf32>) -> tensor<4xf32>' with mesh_shape = #sdy.mesh<["x"=2]>}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
// expected-note@+1 {{this has it; give it another name}}
sdy.mesh @p0_f.main = <["x"=2]>

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

func.func @reports_function_on_another_mesh(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{becomes a call of @p0_f.main, but something else has that name}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
// expected-note@+1 {{this has it}}
func.func @p0_f.main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=4]>} {
  return %x : tensor<4xf32>
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
sdy.mesh @mesh = <["x"=2]>

func.func @reports_sharding_of_another_rank(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{arg_attrs has a sharding that does not fit mesh @mesh, which it names: sharding doesn't match tensor rank}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}]} (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

func.func @reports_sharding_that_is_none(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  // expected-error@+1 {{res_attrs has the sdy.sharding 1 : i32; expected an #sdy.sharding}}
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {res_attrs = [{sdy.sharding = 1 : i32}]} (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

func.func @reports_assign_in_a_fragment(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %1 = mpmd.for (%x) {iterations = 2 : ui32} (%b: tensor<4xf32>, %n: tensor<ui32>) {
      // expected-error@+1 {{is in a fragment, which becomes a function without meshes; move it, or the loop around it, out of the fragment}}
      %2 = mpmd.assign %b : (tensor<4xf32>) -> !m
      %3 = mpmd.unassign %2 : (!m) -> tensor<4xf32>
      mpmd.return %3 : tensor<4xf32>
    } : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
