// RUN: mpmd-opt %s -mpmd-sharding-propagation-pipeline=hoist-invariants=true -mlir-print-ir-after=mpmd-share-bodies -o /dev/null 2>&1 | FileCheck %s
// RUN: mpmd-opt %s -mpmd-sharding-propagation-pipeline=hoist-invariants=true | FileCheck %s --check-prefix=RESULT
// RUN: mpmd-opt %s -mpmd-sharding-propagation-pipeline=defer-reductions=true -mlir-print-ir-after=mpmd-share-bodies -o /dev/null 2>&1 | FileCheck %s --check-prefix=DEFER
// RUN: mpmd-opt %s -mpmd-sharding-propagation-pipeline=defer-reductions=true | FileCheck %s --check-prefix=PLAIN

// Shardings propagate through one body, also where what follows changes some of them:
// that gets the ops of each fragment, and what is equal then is shared again.

!w = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<6x4xbf16>>
!y = !mpmd.mesh_tensor<"m", tensor<6x8xbf16>>

sdy.mesh @g = <["d"=2]>

// CHECK-COUNT-3: Dump After ShareBodies{{.*}} (mpmd-share-bodies)
// CHECK: func.func public @main
// CHECK: mpmd.fragment<mesh="m", origin=["hoisted"]
// CHECK-COUNT-2: stablehlo.custom_call @mpmd.shared_body(
// CHECK: func.func private @shared_body
// CHECK-NOT: stablehlo.convert
// CHECK: return

// RESULT: func.func public @main
// RESULT: mpmd.fragment<mesh="m", origin=["hoisted"]
// RESULT: stablehlo.convert
// RESULT-COUNT-2: stablehlo.dot_general
// RESULT-NOT: shared_body

// DEFER-COUNT-3: stablehlo.custom_call @mpmd.shared_body(
// PLAIN-COUNT-2: stablehlo.convert
// PLAIN-NOT: shared_body
func.func public @main(%w: !w {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}, %x: !x {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}, %z: !x {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}) -> (!y, !y) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %x) (%a: tensor<4x8xf32>, %b: tensor<6x4xbf16>) {
    %c = stablehlo.convert %a : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %d = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] : (tensor<6x4xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
    %e = stablehlo.sine %d : tensor<6x8xbf16>
    %f = stablehlo.cosine %e : tensor<6x8xbf16>
    %g = stablehlo.tanh %f : tensor<6x8xbf16>
    %h = stablehlo.negate %g : tensor<6x8xbf16>
    %i = stablehlo.abs %h : tensor<6x8xbf16>
    %j = stablehlo.add %i, %e : tensor<6x8xbf16>
    %k = stablehlo.add %j, %g : tensor<6x8xbf16>
    mpmd.return %k : tensor<6x8xbf16>
  } : (!w, !x) -> !y
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %z) (%a: tensor<4x8xf32>, %b: tensor<6x4xbf16>) {
    %c = stablehlo.convert %a : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %d = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] : (tensor<6x4xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
    %e = stablehlo.sine %d : tensor<6x8xbf16>
    %f = stablehlo.cosine %e : tensor<6x8xbf16>
    %g = stablehlo.tanh %f : tensor<6x8xbf16>
    %h = stablehlo.negate %g : tensor<6x8xbf16>
    %i = stablehlo.abs %h : tensor<6x8xbf16>
    %j = stablehlo.add %i, %e : tensor<6x8xbf16>
    %k = stablehlo.add %j, %g : tensor<6x8xbf16>
    mpmd.return %k : tensor<6x8xbf16>
  } : (!w, !x) -> !y
  return %0, %1 : !y, !y
}
