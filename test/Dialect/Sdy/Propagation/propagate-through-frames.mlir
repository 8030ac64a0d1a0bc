// RUN: mpmd-opt %s --sdy-propagation-pipeline=avoid-export-for-partitioning | FileCheck %s
// RUN: mpmd-opt %s --sdy-propagation-pipeline=avoid-export-for-partitioning --mpmd-unshare-bodies > %t.shared
// RUN: mpmd-opt %s --mpmd-unshare-bodies --sdy-propagation-pipeline=avoid-export-for-partitioning > %t.own
// RUN: diff %t.shared %t.own

// The edges of frames have no ops, and pass shardings on all the same: of two users
// of a value that demand different axes the same one wins; what shardings a fragment
// has keep their place where others have none; fragments whose results nothing uses
// stay, as they do with edge ops.

!m = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=2]>>>
sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func @main
// CHECK: %[[F:.*]]:2 = mpmd.fragment<mesh="m", origin=["both"], in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>], out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>]> (%arg0, %arg3)
// CHECK: origin=["unused"]
// CHECK: origin=["conflict"], in_shardings=[<@mesh, [{"y"}, {}]>, <@mesh, [{"y"}, {}]>], out_shardings=[<@mesh, [{"y"}, {}]>]
// CHECK: origin=["conflict"], in_shardings=[<@mesh, [{}, {"y"}]>, <@mesh, [{"y"}, {}]>], out_shardings=[<@mesh, [{}, {"y"}]>]
// CHECK-NOT: sdy.data_flow_edge
func.func @main(
    %arg0: !m {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %arg1: !m {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {?}]>},
    %arg2: !m {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y"}]>},
    %arg3: !m, %arg4: !m) -> (!m, !m, !m, !m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["both"]> (%arg0, %arg3) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
    %s:2 = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@apart]} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    mpmd.return %s#0, %s#1 : tensor<4x8xf32>, tensor<4x8xf32>
  } : (!m, !m) -> (!m, !m)
  %1:2 = mpmd.fragment<mesh="m", origin=["unused"]> (%arg1, %0#0) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
    %s:2 = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@apart]} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    mpmd.return %s#0, %s#1 : tensor<4x8xf32>, tensor<4x8xf32>
  } : (!m, !m) -> (!m, !m)
  %2 = mpmd.fragment<mesh="m", origin=["unused"]> (%1#0, %1#1) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@sum]} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m, !m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["conflict"]> (%arg1, %arg4) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@sum]} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m, !m) -> !m
  %4 = mpmd.fragment<mesh="m", origin=["conflict"]> (%arg2, %arg4) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@sum]} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!m, !m) -> !m
  %5:2 = mpmd.fragment<mesh="m", origin=["half"]> (%4, %3) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
    %s:2 = stablehlo.custom_call @mpmd.shared_body(%a, %b) {called_computations = [@apart]} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    mpmd.return %s#0, %s#1 : tensor<4x8xf32>, tensor<4x8xf32>
  } : (!m, !m) -> (!m, !m)
  return %0#0, %0#1, %3, %4, %5#1 : !m, !m, !m, !m, !m
}
func.func private @apart(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {mpmd.shared_body} {
  %s = stablehlo.sine %a : tensor<4x8xf32>
  %t = stablehlo.cosine %b : tensor<4x8xf32>
  return %s, %t : tensor<4x8xf32>, tensor<4x8xf32>
}
func.func private @sum(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {mpmd.shared_body} {
  %s = stablehlo.add %a, %b : tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}
