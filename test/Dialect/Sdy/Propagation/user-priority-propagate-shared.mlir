// RUN: mpmd-opt %s --sdy-user-priority-propagate | FileCheck %s
// RUN: mpmd-opt %s --sdy-user-priority-propagate --mpmd-unshare-bodies > %t.shared
// RUN: mpmd-opt %s --mpmd-unshare-bodies --sdy-user-priority-propagate > %t.own
// RUN: diff %t.shared %t.own

// Shardings pass through a shared body as if its ops were in each fragment. The
// first two calls end alike; the third has other axes, and gets a copy.

!m = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=2]>>>
sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func @main
// CHECK: %[[E:.*]] = sdy.data_flow_edge %{{.*}} sharding=<@mesh, [{"x", ?}, {?}]>
// CHECK: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@shared_body]}
// CHECK: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@shared_body]}
// CHECK: sdy.data_flow_edge %{{.*}} sharding=<@mesh, [{"x", ?}, {?}]>
// CHECK: custom_call @mpmd.shared_body({{.*}}) {called_computations = [@[[COPY:shared_body_0]]]}
// CHECK: sdy.data_flow_edge %{{.*}} sharding=<@mesh, [{?}, {"y", ?}]>
// CHECK: func private @shared_body
// CHECK-NEXT: stablehlo.sine {{.*}}{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>}
// CHECK: func private @[[COPY]]
// CHECK-NEXT: stablehlo.sine {{.*}}{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"y", ?}]>]>}
func.func @main(%arg0: !m {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: !m {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%arg0) (%a: tensor<4x8xf32>) {
    %e = sdy.data_flow_edge %a : tensor<4x8xf32>
    %s = stablehlo.custom_call @mpmd.shared_body(%e) {called_computations = [@shared_body]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m) -> !m
  %1 = sdy.data_flow_edge %0 : !m
  %2 = mpmd.fragment<mesh="m", origin=["f"]> (%1) (%a: tensor<4x8xf32>) {
    %e = sdy.data_flow_edge %a : tensor<4x8xf32>
    %s = stablehlo.custom_call @mpmd.shared_body(%e) {called_computations = [@shared_body]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m) -> !m
  %3 = sdy.data_flow_edge %2 : !m
  %4 = mpmd.fragment<mesh="m", origin=["f"]> (%arg1) (%a: tensor<4x8xf32>) {
    %e = sdy.data_flow_edge %a : tensor<4x8xf32>
    %s = stablehlo.custom_call @mpmd.shared_body(%e) {called_computations = [@shared_body]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m) -> !m
  %5 = sdy.data_flow_edge %4 : !m
  return %1, %3, %5 : !m, !m, !m
}
func.func private @shared_body(%a: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {mpmd.shared_body} {
  %s = stablehlo.sine %a : tensor<4x8xf32>
  %t = stablehlo.add %s, %a : tensor<4x8xf32>
  return %t : tensor<4x8xf32>
}
