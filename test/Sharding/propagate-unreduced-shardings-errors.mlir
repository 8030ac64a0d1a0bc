// RUN: mpmd-opt %s -mpmd-propagate-unreduced-shardings -verify-diagnostics

!l = tensor<8x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<8x4xf32>>
!o = !mpmd.mesh_tensor<"o", tensor<8x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"o": <["x"=4]>>>
sdy.mesh @g = <["x"=2]>

func.func @reports_parts_that_go_to_a_mesh_of_other_axes(%a: !m {sdy.sharding = #sdy.sharding<@g, [{}, {}], unreduced={"x"}>}) -> !o attributes {topology = #topology} {
  // expected-error@+1 {{partial sums over axis "x" go to mesh "o", whose axes are not those of mesh "m"; add them up before they go there, with jax.reshard}}
  %0 = mpmd.transfer %a : (!m) -> !o
  %1 = mpmd.fragment<mesh="o", origin=["f"]> (%0) (%x: !l) {
    %s = stablehlo.add %x, %x : !l
    mpmd.return %s : !l
  } : (!o) -> !o
  return %1 : !o
}
