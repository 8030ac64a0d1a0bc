// RUN: mpmd-opt %s -mpmd-retarget-shardings -split-input-file 2>/dev/null | FileCheck %s

!l = tensor<8x8xf32>
!a = !mpmd.mesh_tensor<"a", tensor<8x8xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<8x8xf32>>
!c = !mpmd.mesh_tensor<"c", tensor<8x8xf32>>
// "c" is like "b", so they share a symbol.
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=4]>>, <"c": <["x"=4]>>>
// CHECK: sdy.mesh @b = <["x"=4]>
// CHECK: sdy.mesh @mesh = <["x"=2]>
sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @moves_signature
// CHECK-SAME:    "a", tensor<8x8xf32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}
// CHECK-SAME:    "b", tensor<8x8xf32>> {sdy.sharding = #sdy.sharding<@b, [{"x"}, {?}]>}
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"c", tensor<8x8xf32>> {sdy.sharding = #sdy.sharding<@b, [{}, {?}p1], unreduced={"x"}>})
func.func @moves_signature(%a: !a {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>},
                           %b: !b {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>})
    -> (!c {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}p1], unreduced={"x"}>}) attributes {topology = #topology} {
  %0 = mpmd.transfer %b : (!b) -> !c
  return %0 : !c
}

// CHECK-LABEL: func @moves_what_is_in_fragments_and_transfers
func.func @moves_what_is_in_fragments_and_transfers(%a: !a) -> !b attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="a", origin=["f"], out_shardings=[<@mesh, [{"x"}, {}]>]>
  %0 = mpmd.fragment<mesh="a", origin=["f"], out_shardings=[<@mesh, [{"x"}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!a) -> !a
  // CHECK: mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@b, [{}, {"x"}]>]>}
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} %0 : (!a) -> !b
  // CHECK: mpmd.fragment<mesh="b", origin=["g"], in_shardings=[<@b, [{"x"}, {}]>]>
  %2 = mpmd.fragment<mesh="b", origin=["g"], in_shardings=[<@mesh, [{"x"}, {}]>]> (%1) (%x: !l) {
    // CHECK: sdy.sharding_constraint %{{.*}} <@b, [{}, {?}], replicated={"x"}>
    %c = sdy.sharding_constraint %x <@mesh, [{}, {?}], replicated={"x"}> : !l
    // CHECK: sdy.sharding_constraint %{{.*}} <@b, [{"x":(1)2}, {?}]>
    %d = sdy.sharding_constraint %c <mesh<["x"=4]>, [{"x":(1)2}, {?}]> : !l
    // Half of an axis is all of one that is half as long.
    // CHECK: stablehlo.abs %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@b, [{"x"}, {}]>]>}
    %e = stablehlo.abs %d {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=8]>, [{"x":(1)4}, {}]>]>} : !l
    mpmd.return %e : !l
  } : (!b) -> !b
  return %2 : !b
}

// Neither has axes of its own.
// CHECK-LABEL: func @leaves_empty_and_maximal_meshes_alone
// CHECK-SAME: #sdy.sharding<@empty_mesh, [{}, {}]>
// CHECK-SAME: #sdy.sharding<mesh<[], device_ids=[1]>, []>
func.func @leaves_empty_and_maximal_meshes_alone(
    %a: !a {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>},
    %b: !b {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[1]>, []>}) attributes {topology = #topology} {
  return
}
sdy.mesh @empty_mesh = <[]>

// CHECK-LABEL: func @leaves_functions_on_no_meshes_alone
// CHECK-SAME: @mesh
func.func @leaves_functions_on_no_meshes_alone(%a: !l {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  return
}

// -----

!l = tensor<8x8xf32>
!a = !mpmd.mesh_tensor<"a", tensor<8x8xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<8x8xf32>>
#topology = #mpmd.topology<<"a": <["x"=2, "y"=2]>>, <"b": <["u"=2, "one"=1, "v"=2]>>>
sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @line = <["p"=4]>

// CHECK-LABEL: func @finds_axes_of_other_names_by_position
// CHECK-SAME: #sdy.sharding<@b, [{"v"}, {"u"}]>
func.func @finds_axes_of_other_names_by_position(%b: !b {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>})
    attributes {topology = #topology} {
  return
}

// CHECK-LABEL: func @keeps_the_axes_that_there_are
// CHECK-SAME: #sdy.sharding<@mesh, [{"x"}, {}], replicated={"y"}>
func.func @keeps_the_axes_that_there_are(
    %a: !a {sdy.sharding = #sdy.sharding<mesh<["x"=4, "w"=3, "z"=2, "y"=2]>, [{"x", "z"}, {"w"}p2], replicated={"y"}>})
    attributes {topology = #topology} {
  return
}

// XLA takes any mesh of as many devices.
// CHECK-LABEL: func @leaves_other_meshes_in_bodies_alone
func.func @leaves_other_meshes_in_bodies_alone(%a: !a) -> !a attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="a", origin=["f"]> (%a) (%x: !l) {
    // CHECK: sdy.sharding_constraint %{{.*}} <@line, [{"p"}, {}]>
    %c = sdy.sharding_constraint %x <@line, [{"p"}, {}]> : !l
    mpmd.return %c : !l
  } : (!a) -> !a
  return %0 : !a
}

// Replica groups count devices along the mesh that the body was made for.
// CHECK-LABEL: func @finds_axes_of_manual_computations_by_position
func.func @finds_axes_of_manual_computations_by_position(%b: !b) -> !b attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="b", origin=["f"]> (%b) (%x: !l) {
    // CHECK: in_shardings=[<@b, [{"v", "u"}, {}]>]
    // CHECK-SAME: out_shardings=[<@b, [{"u"}, {"v"}]>]
    // CHECK-SAME: manual_axes={"u", "v"}
    %c = sdy.manual_computation(%x) in_shardings=[<mesh<["v"=2, "u"=2]>, [{"u", "v"}, {}]>] out_shardings=[<mesh<["v"=2, "u"=2]>, [{"v"}, {"u"}]>] manual_axes={"v", "u"} (%y: tensor<2x8xf32>) {
      %z = stablehlo.reshape %y : (tensor<2x8xf32>) -> tensor<4x4xf32>
      sdy.return %z : tensor<4x4xf32>
    } : (!l) -> !l
    mpmd.return %c : !l
  } : (!b) -> !b
  return %0 : !b
}

// -----

// Nothing names another mesh.
// CHECK-LABEL: module
// CHECK-NEXT:    sdy.mesh @one
// CHECK-NEXT:    sdy.mesh @two
// CHECK:         #sdy.sharding<@two, [{"x"}]>
sdy.mesh @one = <["x"=2]>
sdy.mesh @two = <["x"=2], device_ids=[1, 0]>
func.func @does_nothing_where_all_meshes_are_alike(
    %a: !mpmd.mesh_tensor<"a", tensor<8xf32>> {sdy.sharding = #sdy.sharding<@two, [{"x"}]>})
    attributes {topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>} {
  return
}

// -----

// CHECK: sdy.mesh @taken_0 = <["x"=2]>
// CHECK-LABEL: func @takes_the_size_of_the_topology
// CHECK-SAME: #sdy.sharding<@taken_0, [{"x"}]>
sdy.mesh @mesh = <["x"=4]>
func.func @takes_the_size_of_the_topology(
    %a: !mpmd.mesh_tensor<"taken", tensor<8xf32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    attributes {topology = #mpmd.topology<<"taken": <["x"=2]>>>} {
  return
}
func.func private @taken()

// -----

!l = tensor<8x8xf32>
!b = !mpmd.mesh_tensor<"b", tensor<8x8xf32>>
sdy.mesh @mesh = <["x"=4]>
sdy.mesh @other = <["z"=2]>

// CHECK-LABEL: func @leaves_nested_manual_computation_of_another_mesh
func.func @leaves_nested_manual_computation_of_another_mesh(%b: !b) -> !b
    attributes {topology = #mpmd.topology<<"a": <["x"=4]>>, <"b": <["y"=4]>>>} {
  %0 = mpmd.fragment<mesh="b", origin=["f"]> (%b) (%x: !l) {
    // CHECK: in_shardings=[<@b, [{"y"}, {}]>] out_shardings=[<@b, [{"y"}, {}]>] manual_axes={"y"}
    %c = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%y: tensor<2x8xf32>) {
      // CHECK: in_shardings=[<@other, [{"z"}, {}]>] out_shardings=[<@other, [{"z"}, {}]>] manual_axes={"z"}
      %d = sdy.manual_computation(%y) in_shardings=[<@other, [{"z"}, {}]>] out_shardings=[<@other, [{"z"}, {}]>] manual_axes={"z"} (%z: tensor<1x8xf32>) {
        sdy.return %z : tensor<1x8xf32>
      } : (tensor<2x8xf32>) -> tensor<2x8xf32>
      sdy.return %d : tensor<2x8xf32>
    } : (!l) -> !l
    mpmd.return %c : !l
  } : (!b) -> !b
  return %0 : !b
}

// -----

// A symbol needs a name.
// CHECK: sdy.mesh @mesh_0 = <["x"=2]>
// CHECK-LABEL: func @names_mesh_without_a_name
// CHECK-SAME: #sdy.sharding<@mesh_0, [{"x"}]>
sdy.mesh @mesh = <["x"=4]>
func.func @names_mesh_without_a_name(
    %a: !mpmd.mesh_tensor<"", tensor<8xf32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    attributes {topology = #mpmd.topology<<"": <["x"=2]>>>} {
  return
}

// -----

!l = tensor<8x8xf32>
!b = !mpmd.mesh_tensor<"b", tensor<8x8xf32>>
sdy.mesh @mesh = <["o"=1, "y"=8, "z"=2]>

// Parts of an axis that an axis of size 1 kept apart are one now; that nothing is
// unreduced is written in one way; collectives move axes of the same name.
// CHECK-LABEL: func @writes_each_sharding_in_one_way
func.func @writes_each_sharding_in_one_way(%b: !b) -> !b
    attributes {topology = #mpmd.topology<<"a": <["x"=4]>>, <"b": <["y"=8]>>>} {
  // CHECK: out_shardings=[<@b, [{}, {}]>]
  %0 = mpmd.fragment<mesh="b", origin=["f"], out_shardings=[<@mesh, [{}, {}], unreduced=max{"z"}>]> (%b) (%x: !l) {
    // CHECK: sdy.sharding_constraint %{{.*}} <@b, [{"y":(1)4}, {}]>
    %c = sdy.sharding_constraint %x <@mesh, [{"y":(1)2, "o", "y":(2)2}, {}]> : !l
    // CHECK: %[[Q:.*]] = sdy.sharding_constraint
    %q = sdy.sharding_constraint %c <@mesh, [{"y":(1)4}, {}]> : !l
    // CHECK: sdy.all_gather [{"y":(2)2}, {}] %[[Q]] out_sharding=<@b, [{"y":(1)2}, {}]>
    %d = sdy.all_gather [{"y":(2)2}, {}] %q out_sharding=<@mesh, [{"y":(1)2}, {}]> : !l
    mpmd.return %d : !l
  } : (!b) -> !b
  return %0 : !b
}
