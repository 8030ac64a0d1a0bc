// RUN: mpmd-opt %s -mpmd-forget-inner-shardings | FileCheck %s
// RUN: mpmd-opt %s -mpmd-forget-inner-shardings -sdy-propagation-pipeline=avoid-export-for-partitioning | FileCheck %s --check-prefix=AGAIN
// RUN: mpmd-opt %s -mpmd-sharding-propagation-pipeline=hoist-invariants -mlir-print-ir-before=mpmd-hoist-invariant-computations 2>&1 >/dev/null | FileCheck %s --check-prefix=AGAIN

// The weight has split the product of a backward before its rows got there. From
// the inputs alone, the rows split it, and the weight is gathered.

sdy.mesh @g = <["d"=2]>
sdy.mesh @one = <[], device_ids=[1]>
!x = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
!w = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
#x = #sdy.sharding<@g, [{"d"}, {}]>

// CHECK-LABEL: func @main
// CHECK-SAME: %arg0: !mpmd{{.*}} {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}
// AGAIN-LABEL: func.func {{.*}}@main
func.func @main(%x: !x {sdy.sharding = #x}, %w: !w {sdy.sharding = #x}) -> (!x {sdy.sharding = #x}) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>], out_shardings=[<@g, [{"d"}, {}]>]>
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>], out_shardings=[<@g, [{"d"}, {}]>]> (%x, %w) (%a: tensor<4x8xf32>, %b: tensor<8x8xf32>) {
    // CHECK-NEXT: stablehlo.dot_general %{{.*}}, contracting_dims = [1] x [1] : (
    // AGAIN: stablehlo.dot_general {{.*}}sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>
    %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"d"}]>]>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    // The devices that send and receive stay.
    // CHECK: stablehlo.send{{.*}}sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>
    %tok = stablehlo.create_token : !stablehlo.token
    %sent = "stablehlo.send"(%y, %tok) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true, sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    // In regions, too.
    // CHECK: stablehlo.while
    // CHECK-NOT: sdy.sharding =
    // CHECK: sdy.sharding_constraint %{{.*}} <@g, [{"d"}, {}]>
    %i = stablehlo.constant dense<0> : tensor<i32>
    %l:2 = stablehlo.while(%p = %y, %k = %i) : tensor<4x8xf32>, tensor<i32>
     cond {
      %q = stablehlo.compare LT, %k, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %q = stablehlo.add %p, %p {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"d"}]>]>} : tensor<4x8xf32>
      stablehlo.return %q, %k : tensor<4x8xf32>, tensor<i32>
    }
    %c = sdy.sharding_constraint %l#0 <@g, [{"d"}, {}]> : tensor<4x8xf32>
    %z = stablehlo.multiply %a, %c {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : tensor<4x8xf32>
    mpmd.return %z : tensor<4x8xf32>
  } : (!x, !w) -> !x
  // Outside, everything stays.
  // CHECK: mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>}
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} %0 : (!x) -> !x
  return %1 : !x
}

// A function that is not MPMD.
// CHECK-LABEL: func @plain
// CHECK: stablehlo.add {{.*}}sdy.sharding
func.func @plain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}]>]>} : tensor<8xf32>
  return %y : tensor<8xf32>
}
