// RUN: mpmd-opt %s -mpmd-lower-to-fragment-calls -split-input-file -allow-unregistered-dialect | FileCheck %s

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>, <"pb": <["x"=2, "y"=1]>>>

// CHECK-LABEL: module @jit_shares
// CHECK:       func @equal_bodies_share_a_function(%[[A:.*]]: !mpmd
// CHECK-NEXT:    %[[F:.*]] = mpmd.fragment_call<mesh="pa", origin=["f"]> @p0_f_fwd.shares(%[[A]]) :
// CHECK-NEXT:    %[[G:.*]] = mpmd.fragment_call<mesh="pa", origin=["g"(1)]> @p0_f_fwd.shares(%[[F]]) {remat} :
// CHECK-NEXT:    %[[H:.*]] = mpmd.fragment_call<mesh="pa", origin=[]> @p0_f_fwd.shares(%[[G]]) :
// CHECK-NEXT:    return %[[H]]
// CHECK:       func.func @p0_f_fwd.shares(%[[X:.*]]: tensor<4xf32> {jax.buffer_donor = true}) -> (tensor<4xf32> {mhlo.layout_mode = "auto"})
// CHECK-SAME:      attributes {mesh_shape = #sdy.mesh<["x"=2]>, reserved_hbm_bytes = 96 : i64} {
// CHECK-NEXT:    %[[S:.*]] = stablehlo.sine %[[X]]
// CHECK-NEXT:    return %[[S]]
// CHECK-NOT:   func.func
module @jit_shares {
func.func @equal_bodies_share_a_function(%a: !pa) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) {arg_attrs = [{jax.buffer_donor = true}], call_counter = 2 : ui32, mpmd.inferred_by = ["x"], res_attrs = [{mhlo.layout_mode = "auto"}], reserved_hbm_bytes = 64 : i64} (%x: tensor<4xf32>) {
    %s = stablehlo.sine %x : tensor<4xf32> loc("here")
    mpmd.return %s : tensor<4xf32>
  } : (!pa) -> !pa
  %1 = mpmd.fragment<mesh="pa", origin=["g"(1)]> (%0) {arg_attrs = [{jax.buffer_donor = true}], call_counter = 3 : ui32, remat, res_attrs = [{mhlo.layout_mode = "auto"}], reserved_hbm_bytes = 96 : i64} (%x: tensor<4xf32>) {
    %s = stablehlo.sine %x : tensor<4xf32> loc("there")
    mpmd.return %s : tensor<4xf32>
  } : (!pa) -> !pa
  %2 = mpmd.fragment<mesh="pa", origin=[]> (%1) {arg_attrs = [{jax.buffer_donor = true}], res_attrs = [{mhlo.layout_mode = "auto"}]} (%x: tensor<4xf32>) {
    %s = stablehlo.sine %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!pa) -> !pa
  return %2 : !pa
}
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>, <"pb": <["x"=2]>>>

// CHECK-LABEL: func @meshes_and_lists_of_attributes_separate
// CHECK-NEXT:    fragment_call<mesh="pa", origin=["f"]> @p0_f.main(
// CHECK-NEXT:    fragment_call<mesh="pb", origin=["f"]> @p1_f.main(
// CHECK-NEXT:    fragment_call<mesh="pa", origin=["f"]> @p2_f.main(
// CHECK-NEXT:    fragment_call<mesh="pa", origin=["f"]> @p3_f.main(
// CHECK-NEXT:    fragment_call<mesh="pa", origin=["f"]> @p4_f.main(
// CHECK:       func.func @p0_f.main(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
// CHECK:       func.func @p1_f.main(
// CHECK:       func.func @p2_f.main(
// CHECK:       func.func @p3_f.main(
// CHECK:       func.func @p4_f.main(
func.func @meshes_and_lists_of_attributes_separate(%a: !pa, %b: !pb) -> (!pa, !pb, !pa, !pa, !pa) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  %1 = mpmd.fragment<mesh="pb", origin=["f"]> (%b) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pb) -> !pb
  %2 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) {arg_attrs = [{}]} (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  %3 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) {arg_attrs = [{}], res_attrs = [{}]} (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  %4 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) {arg_attrs = [{mhlo.memory_kind = "pinned_host"}], res_attrs = [{}]} (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  return %0, %1, %2, %3, %4 : !pa, !pb, !pa, !pa, !pa
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>>

// CHECK-LABEL: func @wiring_order_attributes_and_regions_separate
// CHECK-NEXT:    @p0_f.main(
// CHECK-NEXT:    @p1_f.main(
// CHECK-NEXT:    @p2_f.main(
// CHECK-NEXT:    @p3_f.main(
// CHECK-NEXT:    @p4_f.main(
// CHECK-NEXT:    @p5_f.main(
// CHECK-NEXT:    @p4_f.main(
func.func @wiring_order_attributes_and_regions_separate(%a: !pa, %b: !pa) -> (!pa, !pa, !pa, !pa, !pa, !pa, !pa) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a, %b) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    %s = stablehlo.add %x, %y : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!pa, !pa) -> !pa
  %1 = mpmd.fragment<mesh="pa", origin=["f"]> (%a, %b) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    %s = stablehlo.add %y, %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!pa, !pa) -> !pa
  %2 = mpmd.fragment<mesh="pa", origin=["f"]> (%a, %b) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    %s = stablehlo.add %x, %y : tensor<4xf32>
    mpmd.return %y : tensor<4xf32>
  } : (!pa, !pa) -> !pa
  %3 = mpmd.fragment<mesh="pa", origin=["f"]> (%a, %b) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    %s = stablehlo.add %x, %y {kept} : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!pa, !pa) -> !pa
  %4 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %s = "test.region"(%x) ({
    ^bb0(%i: tensor<f32>, %j: tensor<f32>):
      "test.yield"(%i) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!pa) -> !pa
  %5 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %s = "test.region"(%x) ({
    ^bb0(%i: tensor<f32>, %j: tensor<f32>):
      "test.yield"(%j) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!pa) -> !pa
  %6 = mpmd.fragment<mesh="pa", origin=["f"]> (%b) (%x: tensor<4xf32>) {
    %s = "test.region"(%x) ({
    ^bb0(%i: tensor<f32>, %j: tensor<f32>):
      "test.yield"(%i) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!pa) -> !pa
  return %0, %1, %2, %3, %4, %5, %6 : !pa, !pa, !pa, !pa, !pa, !pa, !pa
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4x4xf32>>
!pa_x = !mpmd.mesh_tensor<"pa", tensor<4x4xf32>, sharding=<@grid, [{"x"}, {}]>>
!pa_y = !mpmd.mesh_tensor<"pa", tensor<4x4xf32>, sharding=<@grid, [{}, {"x"}]>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>>
sdy.mesh @grid = <["x"=2]>

// Types outside do not separate; the function has the shardings of its first
// fragment.
// CHECK-LABEL: func @shardings_of_first_member_become_attributes
// CHECK-NEXT:    @p0_f.main(
// CHECK-NEXT:    @p0_f.main(
// CHECK:       func.func @p0_f.main(
// CHECK-SAME:      %[[X:.*]]: tensor<4x4xf32> {mhlo.layout_mode = "auto", sdy.sharding = #sdy.sharding<@grid, [{"x"}, {}]>},
// CHECK-SAME:      %[[Y:.*]]: tensor<4x4xf32>) ->
// CHECK-SAME:      (tensor<4x4xf32>, tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {"x"}]>})
// CHECK-NEXT:    %[[C:.*]] = sdy.sharding_constraint %[[X]] <@grid, [{"x"}, {}]>
// CHECK-NEXT:    return %[[C]], %[[Y]]
func.func @shardings_of_first_member_become_attributes(%a: !pa_x, %b: !pa) -> (!pa, !pa_y, !pa_x, !pa) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="pa", origin=["f"]> (%a, %b) {arg_attrs = [{mhlo.layout_mode = "auto"}, {}]} (%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
    %c = sdy.sharding_constraint %x <@grid, [{"x"}, {}]> : tensor<4x4xf32>
    mpmd.return %c, %y : tensor<4x4xf32>, tensor<4x4xf32>
  } : (!pa_x, !pa) -> (!pa, !pa_y)
  %1:2 = mpmd.fragment<mesh="pa", origin=["f"]> (%b, %a) {arg_attrs = [{mhlo.layout_mode = "auto"}, {}]} (%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
    %c = sdy.sharding_constraint %x <@grid, [{"x"}, {}]> : tensor<4x4xf32>
    mpmd.return %c, %y : tensor<4x4xf32>, tensor<4x4xf32>
  } : (!pa, !pa_x) -> (!pa_x, !pa)
  return %0#0, %0#1, %1#0, %1#1 : !pa, !pa_y, !pa_x, !pa
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>, <"pb": <["x"=2]>>>

// Declared as they are needed, each at the start of the module.
// CHECK:       module {
// CHECK-NEXT:    sdy.mesh @pb = <["x"=2]>
// CHECK-NEXT:    sdy.mesh @pa = <["x"=2]>
// CHECK-NEXT:    sdy.mesh @grid = <["x"=2]>
sdy.mesh @grid = <["x"=2]>
// CHECK:       func.func @manual_computations_move_to_the_mesh_of_the_fragment
// CHECK:       func.func @p0_f.main
// CHECK:         sdy.manual_computation(%{{.*}}) in_shardings=[<@pa, [{"x"}]>] out_shardings=[<@pa, [{"x"}]>] manual_axes={"x"}
// CHECK:         sdy.sharding_constraint %{{.*}} <@grid, [{"x"}]>
// CHECK:       func.func @p1_g.main
// CHECK:         test.region
// CHECK:         sdy.manual_computation(%{{.*}}) in_shardings=[<@pb, [{}]>] out_shardings=[<@pb, [{}]>] manual_axes={}
func.func @manual_computations_move_to_the_mesh_of_the_fragment(%a: !pa, %b: !pb) -> (!pa, !pb) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %m = sdy.manual_computation(%x) in_shardings=[<@grid, [{"x"}]>] out_shardings=[<@grid, [{"x"}]>] manual_axes={"x"} (%i: tensor<2xf32>) {
      %n = stablehlo.negate %i : tensor<2xf32>
      sdy.return %n : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %c = sdy.sharding_constraint %m <@grid, [{"x"}]> : tensor<4xf32>
    mpmd.return %c : tensor<4xf32>
  } : (!pa) -> !pa
  %1 = mpmd.fragment<mesh="pb", origin=["g"]> (%b) (%x: tensor<4xf32>) {
    %r = "test.region"(%x) ({
      %m = sdy.manual_computation(%x) in_shardings=[<@grid, [{}]>] out_shardings=[<@grid, [{}]>] manual_axes={} (%i: tensor<4xf32>) {
        %n = stablehlo.negate %i : tensor<4xf32>
        sdy.return %n : tensor<4xf32>
      } : (tensor<4xf32>) -> tensor<4xf32>
      "test.yield"(%m) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!pb) -> !pb
  return %0, %1 : !pa, !pb
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>>
// CHECK:       module {
// CHECK-NEXT:    sdy.mesh @other
// CHECK-NEXT:    sdy.mesh @pa
// CHECK-NEXT:    func.func
sdy.mesh @other = <["x"=2]>
sdy.mesh @pa = <["x"=2]>

// A reduction kind other than the sum does not survive the change of meshes.
// CHECK-SAME:  @declares_no_mesh_twice
// CHECK:       func.func @p0_f.main
// CHECK:         in_shardings=[<@pa, [{}], unreduced={"x"}>]
// CHECK-SAME:    out_shardings=[<@pa, [{}], unreduced=max{"x"}>]
func.func @declares_no_mesh_twice(%a: !pa) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %m = sdy.manual_computation(%x) in_shardings=[<@other, [{}], unreduced=max{"x"}>] out_shardings=[<@pa, [{}], unreduced=max{"x"}>] manual_axes={"x"} (%i: tensor<4xf32>) {
      %n = stablehlo.negate %i : tensor<4xf32>
      sdy.return %n : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %m : tensor<4xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>, <"pb": <["x"=2]>>>

// CHECK-LABEL: func @leaves_transfers_and_plain_functions_alone
// CHECK-NEXT:    mpmd.transfer {kept}
// CHECK-NEXT:    return
// CHECK:       func @plain
// CHECK-NOT:   func
func.func @leaves_transfers_and_plain_functions_alone(%a: !pa) -> !pb attributes {topology = #topology} {
  %0 = mpmd.transfer {kept} %a : (!pa) -> !pb
  return %0 : !pb
}
func.func @plain(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>>

// CHECK-LABEL: module @jit_m
// CHECK:       func @calls_existing_symbol_of_the_wanted_name
// CHECK-NEXT:    fragment_call<mesh="pa", origin=["f"]> @p0_f.m(
// CHECK-NEXT:    return
// CHECK:       func.func @p0_f.m(
// CHECK-NEXT:    stablehlo.abs
// CHECK-NOT:   func.func
module @jit_m {
func.func @calls_existing_symbol_of_the_wanted_name(%a: !pa) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %n = stablehlo.negate %x : tensor<4xf32>
    mpmd.return %n : tensor<4xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}
func.func @p0_f.m(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  %n = stablehlo.abs %x : tensor<4xf32>
  return %n : tensor<4xf32>
}
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>>
#wide = #mpmd.topology<<"pa": <["x"=4]>>>

// CHECK-LABEL: func @first_program
// CHECK-NEXT:    @p0_f.main(
// CHECK-LABEL: func @second_program_shares_functions
// CHECK-NEXT:    @p0_f.main(
// CHECK-LABEL: func @third_program_has_another_mesh
// CHECK-NEXT:    @p1_f.main(
// CHECK:       func @p0_f.main({{.*}}mesh_shape = #sdy.mesh<["x"=2]>
// CHECK:       func @p1_f.main({{.*}}mesh_shape = #sdy.mesh<["x"=4]>
func.func @first_program(%a: !pa) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}
func.func @second_program_shares_functions(%a: !pa) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}
func.func @third_program_has_another_mesh(%a: !pa) -> !pa attributes {topology = #wide} {
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>>

// A module within this one is another program.
// CHECK-LABEL: func @holds_another_program
// CHECK:         builtin.module
// CHECK:         func.func @inner
// CHECK-NEXT:      mpmd.fragment<
// CHECK:         mpmd.fragment_call<mesh="pa", origin=["f"]> @p0_f.main(
// CHECK:       func @p0_f.main(
// CHECK-NOT:   func @
func.func @holds_another_program(%a: !pa) -> !pa attributes {topology = #topology} {
  builtin.module {
    func.func @inner(%b: !pa) -> !pa attributes {topology = #topology} {
      %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%b) (%x: tensor<4xf32>) {
        mpmd.return %x : tensor<4xf32>
      } : (!pa) -> !pa
      return %0 : !pa
    }
  }
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}
