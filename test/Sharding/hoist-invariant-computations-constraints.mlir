// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations | FileCheck %s

// What a user has gathered in every microbatch.

!w = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<6x4xbf16>>
!y = !mpmd.mesh_tensor<"m", tensor<6x8xbf16>>

sdy.mesh @g = <["d"=2]>

// The type in which it is read is what is sent: the cast comes first.
// CHECK-LABEL: func @gathered_narrow
// CHECK-SAME: (%[[W:arg[0-9]+]]: {{[^%]*}} %[[X:arg[0-9]+]]: {{[^%]*}} %[[Z:arg[0-9]+]]:
func.func @gathered_narrow(%w: !w {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}, %x: !x, %z: !x) -> (!y, !y) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: %[[H:.*]] = mpmd.fragment<mesh="m", origin=["hoisted"], in_shardings=[<@g, [{"d"}, {}]>], out_shardings=[<@g, [{}, {}]>]> (%[[W]]) (%[[IN:.*]]: tensor<4x8xf32>)
  // CHECK-NEXT: %[[CAST:.*]] = stablehlo.convert %[[IN]] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  // CHECK-NEXT: %[[WHOLE:.*]] = sdy.sharding_constraint %[[CAST]] <@g, [{}, {}]> : tensor<4x8xbf16>
  // CHECK-NEXT: mpmd.return %[[WHOLE]]
  // CHECK: mpmd.fragment<mesh="m", origin=["f"], {{.*}} (%[[W]], %[[X]], %[[H]])
  // CHECK-NOT: sdy.sharding_constraint
  // CHECK: mpmd.fragment<mesh="m", origin=["f"], {{.*}} (%[[W]], %[[Z]], %[[H]])
  // CHECK-NOT: sdy.sharding_constraint
  // CHECK: return
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>]>
      (%w, %x) (%a: tensor<4x8xf32>, %b: tensor<6x4xbf16>) {
    %r = sdy.sharding_constraint %a <@g, [{}, {}]> : tensor<4x8xf32>
    %c = stablehlo.convert %r {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {}]>]>} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %d = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<6x4xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
    mpmd.return %d : tensor<6x8xbf16>
  } : (!w, !x) -> !y
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>]>
      (%w, %z) (%a: tensor<4x8xf32>, %b: tensor<6x4xbf16>) {
    %r = sdy.sharding_constraint %a <@g, [{}, {}]> : tensor<4x8xf32>
    %c = stablehlo.convert %r {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {}]>]>} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %d = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<6x4xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
    mpmd.return %d : tensor<6x8xbf16>
  } : (!w, !x) -> !y
  return %0, %1 : !y, !y
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<6x4xf32>>
!y = !mpmd.mesh_tensor<"m", tensor<6x8xf32>>

sdy.mesh @g = <["d"=2]>

// In the type that it has, by a reshard as well, forward and backward.
// CHECK-LABEL: func @gathered_as_it_is
// CHECK: %[[H:.*]] = mpmd.fragment<mesh="m", origin=["hoisted"], in_shardings=[<@g, [{"d"}, {}]>], out_shardings=[<@g, [{}, {}]>]>
// CHECK-NEXT: sdy.reshard
// CHECK-NEXT: mpmd.return
// CHECK: origin=["f"], {{.*}} %[[H]])
// CHECK: origin=["f"(1)], {{.*}} %[[H]])
// CHECK-NOT: sdy.reshard
// CHECK: return
func.func @gathered_as_it_is(%w: !w {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}, %x: !x, %z: !y) -> (!y, !x) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>]>
      (%w, %x) (%a: tensor<4x8xf32>, %b: tensor<6x4xf32>) {
    %r = sdy.reshard %a <@g, [{}, {}]> : tensor<4x8xf32>
    %d = stablehlo.dot_general %b, %r, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
    mpmd.return %d : tensor<6x8xf32>
  } : (!w, !x) -> !y
  %1 = mpmd.fragment<mesh="m", origin=["f"(1)], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>]>
      (%w, %z) (%a: tensor<4x8xf32>, %b: tensor<6x8xf32>) {
    %r = sdy.reshard %a <@g, [{}, {}]> : tensor<4x8xf32>
    %d = stablehlo.dot_general %b, %r, contracting_dims = [1] x [1] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
    mpmd.return %d : tensor<6x4xf32>
  } : (!w, !y) -> !x
  return %0, %1 : !y, !x
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<6x4xf32>>
!y = !mpmd.mesh_tensor<"m", tensor<6x8xf32>>

sdy.mesh @g = <["d"=2]>

// A constraint that only slices costs nothing again, one of what a microbatch
// brings is of each, and two fragments that ask for different things share
// nothing.
// CHECK-LABEL: func @others
// CHECK-NOT: hoisted
// CHECK-COUNT-6: sdy.sharding_constraint
func.func @others(%w: !w, %x: !x, %z: !x, %v: !w {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}) -> (!y, !y, !w, !w) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{}, {}]>, <@g, [{"d"}, {}]>]>
      (%w, %x) (%a: tensor<4x8xf32>, %b: tensor<6x4xf32>) {
    %r = sdy.sharding_constraint %a <@g, [{}, {"d"}]> : tensor<4x8xf32>
    %q = sdy.sharding_constraint %b <@g, [{}, {}]> : tensor<6x4xf32>
    %d = stablehlo.dot_general %q, %r, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"d"}]>]>} : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
    mpmd.return %d : tensor<6x8xf32>
  } : (!w, !x) -> !y
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{}, {}]>, <@g, [{"d"}, {}]>]>
      (%w, %z) (%a: tensor<4x8xf32>, %b: tensor<6x4xf32>) {
    %r = sdy.sharding_constraint %a <@g, [{}, {"d"}]> : tensor<4x8xf32>
    %q = sdy.sharding_constraint %b <@g, [{}, {}]> : tensor<6x4xf32>
    %d = stablehlo.dot_general %q, %r, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"d"}]>]>} : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
    mpmd.return %d : tensor<6x8xf32>
  } : (!w, !x) -> !y
  %2 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>]> (%v) (%a: tensor<4x8xf32>) {
    %r = sdy.sharding_constraint %a <@g, [{}, {"d"}]> : tensor<4x8xf32>
    %s = "stablehlo.custom_call"(%r) {call_target_name = "opaque"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!w) -> !w
  %3 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{"d"}, {}]>]> (%v) (%a: tensor<4x8xf32>) {
    %r = sdy.sharding_constraint %a <@g, [{}, {}]> : tensor<4x8xf32>
    %s = "stablehlo.custom_call"(%r) {call_target_name = "opaque"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %s : tensor<4x8xf32>
  } : (!w) -> !w
  return %0, %1, %2, %3 : !y, !y, !w, !w
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x8xcomplex<f64>>>
!y = !mpmd.mesh_tensor<"m", tensor<4x8xcomplex<f32>>>

sdy.mesh @g = <["d"=2]>

// Of two numbers each.
// CHECK-LABEL: func @complex
// CHECK: origin=["hoisted"]
// CHECK-NEXT: stablehlo.convert {{.*}} -> tensor<4x8xcomplex<f32>>
// CHECK-NEXT: sdy.sharding_constraint {{.*}} : tensor<4x8xcomplex<f32>>
func.func @complex(%w: !w {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}) -> (!y, !y) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%w) (%a: tensor<4x8xcomplex<f64>>) {
    %r = sdy.sharding_constraint %a <@g, [{}, {}]> : tensor<4x8xcomplex<f64>>
    %c = stablehlo.convert %r : (tensor<4x8xcomplex<f64>>) -> tensor<4x8xcomplex<f32>>
    %s = "stablehlo.custom_call"(%c) {call_target_name = "opaque"} : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    mpmd.return %s : tensor<4x8xcomplex<f32>>
  } : (!w) -> !y
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>]> (%w) (%a: tensor<4x8xcomplex<f64>>) {
    %r = sdy.sharding_constraint %a <@g, [{}, {}]> : tensor<4x8xcomplex<f64>>
    %c = stablehlo.convert %r : (tensor<4x8xcomplex<f64>>) -> tensor<4x8xcomplex<f32>>
    %s = "stablehlo.custom_call"(%c) {call_target_name = "opaque"} : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    mpmd.return %s : tensor<4x8xcomplex<f32>>
  } : (!w) -> !y
  return %0, %1 : !y, !y
}
