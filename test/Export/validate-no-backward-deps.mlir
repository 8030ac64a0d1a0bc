// RUN: mpmd-opt %s -mpmd-validate-no-backward-deps -verify-diagnostics | FileCheck %s

!pa2 = !mpmd.mesh_tensor<"pa2", tensor<4xf32>>
!pa10 = !mpmd.mesh_tensor<"pa10", tensor<4xf32>>
!qb02 = !mpmd.mesh_tensor<"qb02", tensor<4xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<4xf32>>
!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>, <"pb": <["x"=2]>>, <"pa2": <["x"=2]>>, <"pa10": <["x"=2]>>, <"qb02": <["x"=2]>>>

func.func @p0_f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<4xf32>
}
func.func @p1_g(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func @accepts_later_meshes
func.func @accepts_later_meshes(%a: !pa2) -> !pa10 attributes {topology = #topology} {
  %0 = mpmd.fragment_call<mesh="pa2", origin=["f"]> @p0_f(%a) : (!pa2) -> !pa2
  %1 = mpmd.transfer %0 : (!pa2) -> !pa10
  %2 = mpmd.fragment_call<mesh="pa10", origin=["f"]> @p0_f(%1) : (!pa10) -> !pa10
  return %2 : !pa10
}

// Each operand is one report; transfers in between do not count.
func.func @warns_of_each_operand_from_a_later_mesh(%a: !pb, %b: !pa2) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment_call<mesh="pb", origin=["f"]> @p0_f(%a) : (!pb) -> !pb
  %1 = mpmd.transfer %0 : (!pb) -> !pa10
  %2 = mpmd.transfer %1 : (!pa10) -> !pa
  %3 = mpmd.fragment_call<mesh="pa2", origin=["f"]> @p0_f(%b) : (!pa2) -> !pa2
  %4 = mpmd.transfer %3 : (!pa2) -> !pa
  // expected-warning@+2 {{Detected backward dependency in a forward-only pipeline: "p0_f" mesh="pb" is read by "p1_g" mesh="pa"}}
  // expected-warning@+1 {{Detected backward dependency in a forward-only pipeline: "p0_f" mesh="pa2" is read by "p1_g" mesh="pa"}}
  %5 = mpmd.fragment_call<mesh="pa", origin=[]> @p1_g(%2, %4) : (!pa, !pa) -> !pa
  return %5 : !pa
}

// The topology has pb before pa10, whatever the order of their names.
func.func @warns_by_the_order_of_the_topology(%a: !pa10) -> (!pb, !pa10) attributes {topology = #topology} {
  %0 = mpmd.fragment_call<mesh="pa10", origin=["f"]> @p0_f(%a) : (!pa10) -> !pa10
  %1 = mpmd.transfer %0 : (!pa10) -> !pb
  // expected-warning@+1 {{"p0_f" mesh="pa10" is read by "p0_f" mesh="pb"}}
  %2 = mpmd.fragment_call<mesh="pb", origin=["f"]> @p0_f(%1) : (!pb) -> !pb
  %3 = mpmd.transfer %2 : (!pb) -> !pa10
  %4 = mpmd.fragment_call<mesh="pa10", origin=["f"]> @p0_f(%3) : (!pa10) -> !pa10
  return %2, %4 : !pb, !pa10
}

// A number that both names end in says nothing.
func.func @accepts_names_with_equal_numbers(%a: !pa2) -> !qb02 attributes {topology = #topology} {
  %0 = mpmd.fragment_call<mesh="pa2", origin=["f"]> @p0_f(%a) : (!pa2) -> !pa2
  %1 = mpmd.transfer %0 : (!pa2) -> !qb02
  %2 = mpmd.fragment_call<mesh="qb02", origin=["f"]> @p0_f(%1) : (!qb02) -> !qb02
  return %2 : !qb02
}

func.func @accepts_arguments_and_other_producers(%a: !pb) -> !pa attributes {topology = #topology} {
  %0 = mpmd.transfer %a : (!pb) -> !pa
  %1 = mpmd.for (%0) {iterations = 1 : ui32} (%i: !pa, %n: tensor<ui32>) {
    mpmd.return %i : !pa
  } : !pa
  %2 = mpmd.fragment_call<mesh="pa", origin=["f"]> @p1_g(%0, %1) : (!pa, !pa) -> !pa
  return %2 : !pa
}

// Without the option.
func.func @accepts_everything_if_something_is_transposed(%a: !pb) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment_call<mesh="pb", origin=["f"]> @p0_f(%a) : (!pb) -> !pb
  %1 = mpmd.transfer %0 : (!pb) -> !pa
  %2 = mpmd.fragment_call<mesh="pa", origin=["f", "f"(1)]> @p0_f(%1) : (!pa) -> !pa
  return %2 : !pa
}

// What reads itself, where nothing comes, has no producer.
func.func @accepts_other_blocks(%a: !pa) -> !pa attributes {topology = #topology} {
  return %a : !pa
^bb1:
  %0 = mpmd.transfer %0 : (!pa) -> !pa
  %1 = mpmd.fragment_call<mesh="pa", origin=["f"]> @p0_f(%0) : (!pa) -> !pa
  return %1 : !pa
}
