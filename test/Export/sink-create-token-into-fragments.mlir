// RUN: mpmd-opt %s -mpmd-sink-create-token-into-fragments | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!token = !stablehlo.token
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @grid = <["x"=2]>

// CHECK-LABEL: func @tokens_are_created_inside
// CHECK-SAME:    (%{{.*}}: !stablehlo.token, %{{.*}}: !stablehlo.token, %[[A:.*]]: !mpmd
// CHECK-NEXT:    stablehlo.create_token
// CHECK-NEXT:    %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"], stage=3> (%[[A]]) {kept} (%[[X:.*]]: tensor<4xf32>) {
// CHECK-NEXT:      %[[FIRST:.*]] = stablehlo.create_token
// CHECK-NEXT:      %[[SECOND:.*]] = stablehlo.create_token
// CHECK-NEXT:      stablehlo.after_all %[[SECOND]], %[[FIRST]]
// CHECK-NEXT:      mpmd.return %[[X]] : tensor<4xf32>
// CHECK-NEXT:    } : (!mpmd.mesh_tensor<"m", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>>
// CHECK-NEXT:    %[[G:.*]] = mpmd.fragment<mesh="m", origin=["g"]> (%[[F]]) (%{{.*}}: tensor<4xf32>) {
// CHECK-NEXT:      %[[TOKEN:.*]] = stablehlo.create_token
// CHECK-NEXT:      stablehlo.after_all %[[TOKEN]]
// CHECK:         return %[[G]]
func.func @tokens_are_created_inside(%s: !token, %t: !token, %a: !m) -> !m attributes {topology = #topology} {
  %new = stablehlo.create_token : !token
  %0:2 = mpmd.fragment<mesh="m", origin=["f"], stage=3> (%s, %a, %t) {kept} (%j: !token, %x: tensor<4xf32>, %k: !token) {
    %o = stablehlo.after_all %k, %j : !token
    mpmd.return %o, %x : !token, tensor<4xf32>
  } : (!token, !m, !token) -> (!token, !m)
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0#0, %0#1) (%k: !token, %x: tensor<4xf32>) {
    %o = stablehlo.after_all %k : !token
    mpmd.return %x : tensor<4xf32>
  } : (!token, !m) -> !m
  return %1 : !m
}

// CHECK-LABEL: func @lists_lose_the_entries_of_tokens
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@grid, [{"x"}]>], out_shardings=[<@grid, [{?}]>]> (%{{.*}}) {arg_attrs = [{jax.buffer_donor = true}], res_attrs = [{mhlo.layout_mode = "auto"}]}
func.func @lists_lose_the_entries_of_tokens(%t: !token, %a: !m) -> !m attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@grid, []>, <@grid, [{"x"}]>], out_shardings=[<@grid, [{?}]>, <@grid, []>]> (%t, %a) {arg_attrs = [{}, {jax.buffer_donor = true}], res_attrs = [{mhlo.layout_mode = "auto"}, {}]} (%k: !token, %x: tensor<4xf32>) {
    mpmd.return %x, %k : tensor<4xf32>, !token
  } : (!token, !m) -> (!m, !token)
  return %0#0 : !m
}

// CHECK-LABEL: func @fragment_of_tokens_only_stays
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"]> () () {
// CHECK-NEXT:      stablehlo.create_token
// CHECK-NEXT:      mpmd.return
// CHECK-NEXT:    } : () -> ()
func.func @fragment_of_tokens_only_stays(%t: !token) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%t) (%k: !token) {
    mpmd.return %k : !token
  } : (!token) -> !token
  return
}

// CHECK-LABEL: func @leaves_tokens_of_the_function_alone
// CHECK-NEXT:    %[[T:.*]] = stablehlo.create_token
// CHECK-NEXT:    return %[[T]]
func.func @leaves_tokens_of_the_function_alone(%a: !m) -> !token attributes {topology = #topology} {
  %t = stablehlo.create_token : !token
  return %t : !token
}

// CHECK-LABEL: func @results_after_tokens_move_up
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"]> {{.*}} {arg_attrs = [{tf.aliasing_output = 0 : i32}, {tf.aliasing_output = 1 : i32}]}
func.func @results_after_tokens_move_up(%a: !m, %b: !m) -> (!m, !m) attributes {topology = #topology} {
  %0:3 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) {arg_attrs = [{tf.aliasing_output = 0 : i32}, {tf.aliasing_output = 2 : i32}]} (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    %k = stablehlo.create_token : !token
    mpmd.return %x, %k, %y : tensor<4xf32>, !token, tensor<4xf32>
  } : (!m, !m) -> (!m, !token, !m)
  return %0#0, %0#2 : !m, !m
}
