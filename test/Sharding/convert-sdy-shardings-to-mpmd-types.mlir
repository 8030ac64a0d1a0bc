// RUN: mpmd-opt %s -mpmd-convert-sdy-shardings-to-mpmd-types | FileCheck %s

!l = tensor<8x8xf32>
!m = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<8x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=4]>>, <"n": <["x"=2, "y"=4]>>>
sdy.mesh @g = <["x"=2, "y"=4]>
sdy.mesh @maximal = <[], device_ids=[0]>

// CHECK-LABEL: func @moves_shardings_of_fragment_into_types
func.func @moves_shardings_of_fragment_into_types(%a: !m, %b: !m) -> (!m, !m) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["f"]> (%{{[^{]*}}) {kept}
  // CHECK:      } : (!mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>>, !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{}, {}]>>)
  // CHECK-SAME: -> (!mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"y"}, {}]>>, !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{}, {"x"}]>>)
  %0:2 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"x"}, {}]>, <@g, [{}, {}]>], out_shardings=[<@g, [{"y"}, {}]>, <@g, [{}, {"x"}]>]> (%a, %b) {kept} (%x: !l, %y: !l) {
    mpmd.return %x, %y : !l, !l
  } : (!m, !m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}

// CHECK-LABEL: func @keeps_memory_kind
// CHECK-SAME:    !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>, memory_kind="pinned_host">)
func.func @keeps_memory_kind(%a: !mpmd.mesh_tensor<"m", tensor<8x8xf32>, memory_kind="pinned_host"> {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) attributes {topology = #topology} {
  return
}

// CHECK-LABEL: func @replaces_sharding_that_type_has
// CHECK-SAME:    sharding=<@g, [{"x"}, {}]>>)
func.func @replaces_sharding_that_type_has(%a: !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"y"}, {}]>> {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) attributes {topology = #topology} {
  return
}

// CHECK-LABEL: func @moves_shardings_of_transfer_into_types
// CHECK-SAME:    -> !mpmd.mesh_tensor<"n", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>>
func.func @moves_shardings_of_transfer_into_types(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer {kept} %{{.*}} : (!mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>>) -> !mpmd.mesh_tensor<"n", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>>
  %0 = mpmd.transfer {kept, sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %a : (!m) -> !n
  return %0 : !n
}

// CHECK-LABEL: func @keeps_types_of_values_without_sharding
// CHECK-SAME:    (%{{.*}}: !mpmd.mesh_tensor<"m", tensor<8x8xf32>>) -> !mpmd.mesh_tensor<"n", tensor<8x8xf32>>
func.func @keeps_types_of_values_without_sharding(%a: !m) -> !n attributes {topology = #topology} {
  %0 = mpmd.transfer %a : (!m) -> !n
  return %0 : !n
}

// CHECK-LABEL: func @moves_shardings_of_loop_into_types
func.func @moves_shardings_of_loop_into_types(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}, %b: !m) -> !m attributes {topology = #topology} {
  // CHECK: %[[F:.*]] = mpmd.fragment
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"y"}, {}]>]> (%b) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK: mpmd.for (%{{.*}}, %[[F]]) {iterations = 2 : ui32, unroll_factor = 1 : ui32} (%[[A:.*]]: !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>>, %[[B:.*]]: !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"y"}, {}]>>, %{{.*}}: tensor<ui32>)
  // CHECK:   mpmd.return
  // CHECK-SAME: !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>>, !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"y"}, {}]>>
  %1:2 = mpmd.for (%a, %0) {iterations = 2 : ui32, unroll_factor = 1 : ui32, sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>, <@g, [{"y"}, {}]>]>} (%x: !m, %y: !m, %i: tensor<ui32>) {
    mpmd.return %x, %y : !m, !m
  } : !m, !m
  return %1#1 : !m
}

// Propagation states nothing where there are no axes, but all values of one
// position have one type.
// CHECK-LABEL: func @gives_loop_closed_sharding_of_operand
// CHECK-SAME:    -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{}, {}]>>
func.func @gives_loop_closed_sharding_of_operand(%a: !m {sdy.sharding = #sdy.sharding<@g, [{}, {}]>}) -> !m attributes {topology = #topology} {
  // CHECK: mpmd.fragment
  // CHECK: -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{}, {}]>>
  %0 = mpmd.for (%a) {iterations = 2 : ui32} (%x: !m, %i: tensor<ui32>) {
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%y: !l) {
      mpmd.return %y : !l
    } : (!m) -> !m
    mpmd.return %1 : !m
  } : !m
  return %0 : !m
}

// CHECK-LABEL: func @gives_operand_and_body_closed_sharding_of_loop
// CHECK-SAME:    !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{}, {}]>>)
func.func @gives_operand_and_body_closed_sharding_of_loop(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}, %b: !m) -> (!m, !m) attributes {topology = #topology} {
  // CHECK: } : !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>>, !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{}, {}]>>
  %0:2 = mpmd.for (%a, %b) {iterations = 2 : ui32, sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>, <@g, [{}, {}]>]>} (%x: !m, %y: !m, %i: tensor<ui32>) {
    mpmd.return %x, %y : !m, !m
  } : !m, !m
  return %0#0, %0#1 : !m, !m
}

// CHECK-LABEL: func @removes_shardings_of_all_ops_but_communication
// CHECK-NOT:     sdy.sharding =
func.func @removes_shardings_of_all_ops_but_communication(%a: !m) -> !m attributes {topology = #topology, sdy.sharding = #sdy.sharding_per_value<[]>} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%{{[^{]*}}) (%[[X:.*]]: tensor<8x8xf32>)
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} (%x: !l) {
    // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[X]] {kept}
    %s = stablehlo.sine %x {kept, sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} : !l
    // CHECK-NEXT: create_token
    %t = stablehlo.create_token : !stablehlo.token
    // CHECK-NEXT: stablehlo.send{{.*}}sdy.sharding = #sdy.sharding_per_value<[<@maximal, []>]>
    %u = "stablehlo.send"(%s, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> {sdy.sharding = #sdy.sharding_per_value<[<@maximal, []>]>} : (!l, !stablehlo.token) -> !stablehlo.token
    // CHECK-NEXT: stablehlo.recv{{.*}}sdy.sharding = #sdy.sharding_per_value<[<@maximal, []>, <@maximal, []>]>
    %v:2 = "stablehlo.recv"(%u) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true}> {sdy.sharding = #sdy.sharding_per_value<[<@maximal, []>, <@maximal, []>]>} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
    mpmd.return %s : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @leaves_sdy_ops_alone
func.func @leaves_sdy_ops_alone(%a: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    // CHECK: sdy.sharding_constraint %{{.*}} <@g, [{"x"}, {}]>
    %1 = sdy.sharding_constraint %x <@g, [{"x"}, {}]> : !l
    // CHECK: sdy.sharding_group %{{.*}} group_id=3
    sdy.sharding_group %1 group_id=3 : !l
    // CHECK: sdy.manual_computation(%{{.*}}) in_shardings=[<@g, [{"x"}, {}]>] out_shardings=[<@g, [{"x"}, {}]>] manual_axes={"x"}
    %2 = sdy.manual_computation(%1) in_shardings=[<@g, [{"x"}, {}]>] out_shardings=[<@g, [{"x"}, {}]>] manual_axes={"x"} (%y: tensor<4x8xf32>) {
      sdy.return %y : tensor<4x8xf32>
    } : (!l) -> !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @drops_sharding_of_results_and_keeps_other_attributes
// CHECK-SAME:    (%{{.*}}: !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>> {jax.buffer_donor = true})
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"m", tensor<8x8xf32>> {jax.result_info = "out"}, !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>>)
func.func @drops_sharding_of_results_and_keeps_other_attributes(%a: !m {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>})
    -> (!m {jax.result_info = "out", sdy.sharding = #sdy.sharding<@g, [{"y"}, {}]>}, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0, %a : !m, !m
}

// CHECK-LABEL: func @last_user_decides_unless_value_is_argument
func.func @last_user_decides_unless_value_is_argument(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> (!m, !m, !m) attributes {topology = #topology} {
  // CHECK:      %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"]>
  // CHECK:      } : (!mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>>) -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{}, {"y"}]>>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"y"}, {}]>], out_shardings=[<@g, [{"x"}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"y"}, {}]>]> (%0) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK:      mpmd.fragment<mesh="m", origin=["h"]> (%[[F]])
  %2 = mpmd.fragment<mesh="m", origin=["h"], in_shardings=[<@g, [{}, {"y"}]>]> (%0) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %0, %1, %2 : !m, !m, !m
}

// CHECK-LABEL: func @removes_shardings_from_spmd_function
// CHECK-SAME:    (%{{.*}}: tensor<8x8xf32>) -> tensor<8x8xf32>
func.func @removes_shardings_from_spmd_function(%a: !l {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> (!l {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) attributes {mesh_shape = #sdy.mesh<["x"=2, "y"=4]>} {
  // CHECK-NEXT: stablehlo.sine %{{.*}} : tensor
  %0 = stablehlo.sine %a {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} : !l
  return %0 : !l
}

// CHECK-LABEL: func @leaves_other_functions_alone
// CHECK-SAME:    sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>
func.func @leaves_other_functions_alone(%a: !l {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !l {
  // CHECK-NEXT: stablehlo.sine %{{.*}} {sdy.sharding
  %0 = stablehlo.sine %a {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} : !l
  return %0 : !l
}
