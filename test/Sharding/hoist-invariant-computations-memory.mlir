// RUN: mpmd-opt %s -mpmd-hoist-invariant-computations=memory=800 | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: mpmd-opt %s -mpmd-hoist-invariant-computations=memory=799 | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: mpmd-opt %s -mpmd-hoist-invariant-computations="memory=799 limit=192" | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: mpmd-opt %s -mpmd-hoist-invariant-computations="memory=12288 device=tpu-v5e" | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: mpmd-opt %s -mpmd-hoist-invariant-computations="memory=12287 device=tpu-v5e" | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: not mpmd-opt %s -mpmd-hoist-invariant-computations=device=tpu-v5 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: device: unknown device "tpu-v5", known are
// RUN: mpmd-opt %s -mpmd-hoist-invariant-computations=memory=470 -remarks-filter=.* -remark-policy=all -remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=NONE

!v = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!w = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>
!y = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>

sdy.mesh @g = <["d"=2]>

// Each device holds half of every argument and result, 160 and 192 bytes, and
// half of the product that the custom call reads, 64 bytes, which take the 256 to which
// places are aligned. Whole weights are of 64 and 128 bytes. A TPU pads each half to a
// tile of 1024 bytes, and each whole one to 2048; the product stays on the chip.
// NONE: remark: [Missed] not hoisted{{.*}}on mesh "m", 2 fragments need tensor<4x8xf32>, which takes 128 bytes on each device; of the 470 that mpmd_device_memory gives, the program holds 608, and of the rest, 0 are taken
// NONE: remark: [Missed] not hoisted{{.*}}on mesh "m", 2 fragments need tensor<4x4xf32>, which takes 64 bytes
// CHECK-LABEL: func @two_weights
// BOTH: mpmd.fragment<mesh="m", origin=["hoisted"], {{.*}} (%arg1, %arg0)
// ONE: mpmd.fragment<mesh="m", origin=["hoisted"], {{.*}} (%arg1)
func.func @two_weights(
    %v: !v {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}, %w: !w {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>},
    %x: !x {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}, %z: !x {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}) -> (!y, !x, !y, !x) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>], out_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>]>
      (%v, %w, %x) (%a: tensor<4x4xf32>, %b: tensor<4x8xf32>, %c: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %c, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = "stablehlo.custom_call"(%d) {call_target_name = "opaque", sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %e = stablehlo.dot_general %c, %a, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    mpmd.return %t, %e : tensor<4x8xf32>, tensor<4x4xf32>
  } : (!v, !w, !x) -> (!y, !x)
  %1:2 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>], out_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>]>
      (%v, %w, %z) (%a: tensor<4x4xf32>, %b: tensor<4x8xf32>, %c: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %c, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = "stablehlo.custom_call"(%d) {call_target_name = "opaque", sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %e = stablehlo.dot_general %c, %a, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    mpmd.return %t, %e : tensor<4x8xf32>, tensor<4x4xf32>
  } : (!v, !w, !x) -> (!y, !x)
  return %0#0, %0#1, %1#0, %1#1 : !y, !x, !y, !x
}
