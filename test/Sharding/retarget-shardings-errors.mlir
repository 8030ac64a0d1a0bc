// RUN: mpmd-opt %s -mpmd-retarget-shardings -split-input-file -verify-diagnostics

!l = tensor<8x8xf32>
!b = !mpmd.mesh_tensor<"b", tensor<8x8xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["y"=2, "z"=2]>>>
sdy.mesh @mesh = <["x"=2]>

// expected-warning@+1 {{sharding #sdy.sharding<@mesh, [{}, {"x"}]> splits by axis "x", but the value is on mesh "b", #sdy.mesh<["y"=2, "z"=2]>, which has no such axis; it is not split by it. Use the axes of mesh "b"}}
func.func @warns_of_axes_that_the_mesh_lacks(%b: !b {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> !b
    attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="b", origin=["f"]> (%b) (%x: !l) {
    // expected-warning@+1 {{sharding #sdy.sharding<@mesh, [{"x"}, {}]> splits by axis "x", but the value is on mesh "b"}}
    %c = sdy.sharding_constraint %x <@mesh, [{"x"}, {}]> : !l
    // Once for equal shardings.
    %d = sdy.sharding_constraint %c <@mesh, [{"x"}, {}]> : !l
    mpmd.return %d : !l
  } : (!b) -> !b
  return %0 : !b
}

// -----

!l = tensor<8x8xf32>
!b = !mpmd.mesh_tensor<"b", tensor<8x8xf32>>
#topology = #mpmd.topology<<"a": <["x"=4]>>, <"b": <["y"=2, "z"=2]>>>
sdy.mesh @mesh = <["x"=4]>

func.func @reports_manual_computation_on_a_mesh_of_other_sizes(%b: !b) -> !b attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="b", origin=["f"]> (%b) (%x: !l) {
    // expected-error@+1 {{manual computation (`jax.shard_map`) over #sdy.mesh<["x"=4]> runs on mesh "b", #sdy.mesh<["y"=2, "z"=2]>; map it over mesh "b", or assign it to a mesh of its axes}}
    %c = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%y: tensor<2x8xf32>) {
      sdy.return %y : tensor<2x8xf32>
    } : (!l) -> !l
    mpmd.return %c : !l
  } : (!b) -> !b
  return %0 : !b
}

// -----

!l = tensor<8x8xf32>
!b = !mpmd.mesh_tensor<"b", tensor<8x8xf32>>
#topology = #mpmd.topology<<"a": <["x"=4]>>, <"b": <["x"=8]>>>
sdy.mesh @mesh = <["x"=4]>

// Fragments do not verify their shardings.
func.func @reports_unknown_axis(%b: !b) -> !b attributes {topology = #topology} {
  // expected-error@+1 {{sharding of argument 0: unknown axis name: "w"; the mesh is #sdy.mesh<["x"=4]>}}
  %0 = mpmd.fragment<mesh="b", origin=["f"], in_shardings=[<@mesh, [{"w"}, {}]>]> (%b) (%x: !l) {
    mpmd.return %x : !l
  } : (!b) -> !b
  return %0 : !b
}

// -----

!l = tensor<8x8xf32>
!b = !mpmd.mesh_tensor<"b", tensor<8x8xf32>>
#topology = #mpmd.topology<<"a": <["x"=4]>>, <"b": <["x"=8]>>>
sdy.mesh @mesh = <["x"=4]>

func.func @reports_part_of_no_size(%b: !b) -> !b attributes {topology = #topology} {
  // expected-error@+1 {{sharding of argument 0: }}
  %0 = mpmd.fragment<mesh="b", origin=["f"], in_shardings=[<@mesh, [{"x":(0)1}, {}]>]> (%b) (%x: !l) {
    mpmd.return %x : !l
  } : (!b) -> !b
  return %0 : !b
}

// -----

!l = tensor<8x8xf32>
!b = !mpmd.mesh_tensor<"b", tensor<8x8xf32>>
#topology = #mpmd.topology<<"a": <["x"=4]>>, <"b": <["y"=8]>>>
sdy.mesh @mesh = <["y"=8, "z"=2]>

func.func @reports_collective_of_axes_that_the_mesh_lacks(%b: !b) -> !b attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="b", origin=["f"]> (%b) (%x: !l) {
    %q = sdy.sharding_constraint %x <@mesh, [{"y", "z"}, {}]> : !l
    // expected-error@+1 {{sdy.all_gather over #sdy.mesh<["y"=8, "z"=2]> runs on mesh "b", #sdy.mesh<["y"=8]>, which lacks some of its axes; let it move axes of mesh "b"}}
    %t = sdy.all_gather [{"z"}, {}] %q out_sharding=<@mesh, [{"y"}, {}]> : !l
    mpmd.return %t : !l
  } : (!b) -> !b
  return %0 : !b
}
