// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations | FileCheck %s
// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations=limit=63 -remarks-filter=.* -remark-policy=all -remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations=limit=15 | FileCheck %s --check-prefix=BOUND --implicit-check-not=hoisted

!w = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<6x4xbf16>>
!y = !mpmd.mesh_tensor<"m", tensor<6x8xbf16>>

sdy.mesh @g = <["d"=2]>

// Rows are split over "d", so the dot product needs all of the weight.
// CHECK-LABEL: func @weight
// CHECK-SAME: (%[[W:arg[0-9]+]]: {{[^%]*}} %[[X:arg[0-9]+]]: {{[^%]*}} %[[Z:arg[0-9]+]]:
// BOUND-LABEL: func @weight
func.func @weight(%w: !w {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}, %x: !x, %z: !x) -> (!y, !y) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: %[[H:.*]] = mpmd.fragment<mesh="m", origin=["hoisted"], in_shardings=[<@g, [{"d"}, {}]>], out_shardings=[<@g, [{}, {}]>]> (%[[W]])
  // CHECK-NEXT: stablehlo.convert {{.*}} -> tensor<4x8xbf16>
  // CHECK: mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>, <@g, [{}, {}]>]> (%[[W]], %[[X]], %[[H]])
  // CHECK-SAME: (%{{[^,]*}}, %[[ROWS:arg[0-9]+]]: {{[^%]*}}, %[[WHOLE:arg[0-9]+]]: tensor<4x8xbf16>)
  // CHECK: stablehlo.dot_general %[[ROWS]], %[[WHOLE]],
  // CHECK: mpmd.fragment<mesh="m", origin=["f"], {{.*}} (%[[W]], %[[Z]], %[[H]])
  %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>]>
      (%w, %x) (%a: tensor<4x8xf32>, %b: tensor<6x4xbf16>) {
    %c = stablehlo.convert %a {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %d = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<6x4xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
    mpmd.return %d : tensor<6x8xbf16>
  } : (!w, !x) -> !y
  %1 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}, {}]>]>
      (%w, %z) (%a: tensor<4x8xf32>, %b: tensor<6x4xbf16>) {
    %c = stablehlo.convert %a {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %d = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<6x4xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
    mpmd.return %d : tensor<6x8xbf16>
  } : (!w, !x) -> !y
  return %0, %1 : !y, !y
}
// WHY: remark: [Missed] not hoisted{{.*}}on mesh "m", 2 fragments need tensor<4x8xbf16>, which takes 64 bytes on each device; of the 63 that mpmd_hoist_bytes allows, 0 are taken

// -----

!w = !mpmd.mesh_tensor<"m", tensor<8xf32>>
!x = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>

// What only copies stays, and what is larger than its inputs.
// CHECK-LABEL: func @cheap_and_large
func.func @cheap_and_large(%w: !w, %x: !x) -> (!x, !x) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: %[[H:.*]] = mpmd.fragment<mesh="m", origin=["hoisted"]> (%arg0) (%[[A:.*]]: tensor<8xf32>) {
  // CHECK-NEXT: %[[E:.*]] = stablehlo.exponential %[[A]]
  // CHECK-NEXT: mpmd.return %[[E]] : tensor<8xf32>
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%arg0, %arg1, %[[H]]) (%{{.*}}, %{{.*}}, %[[IN_F:arg[0-9]+]]: tensor<8xf32>)
  // CHECK: stablehlo.custom_call @opaque(%[[IN_F]])
  // CHECK: stablehlo.broadcast_in_dim %{{.*}} -> tensor<4x8xf32>
  // CHECK: mpmd.fragment<mesh="m", origin=["g"]> ({{.*}}, %[[H]]) (%{{.*}}, %{{.*}}, %[[IN_G:arg[0-9]+]]: tensor<8xf32>)
  // CHECK: stablehlo.custom_call @opaque(%[[IN_G]])
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %x) (%a: tensor<8xf32>, %b: tensor<4x8xf32>) {
    %e = stablehlo.exponential %a : tensor<8xf32>
    %s = "stablehlo.custom_call"(%e) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    %r = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %d = stablehlo.add %b, %r : tensor<4x8xf32>
    %t = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %u = stablehlo.add %d, %t : tensor<4x8xf32>
    mpmd.return %u : tensor<4x8xf32>
  } : (!w, !x) -> !x
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%w, %x) (%a: tensor<8xf32>, %b: tensor<4x8xf32>) {
    %e = stablehlo.exponential %a : tensor<8xf32>
    %s = "stablehlo.custom_call"(%e) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    %t = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %u = stablehlo.add %b, %t : tensor<4x8xf32>
    mpmd.return %u : tensor<4x8xf32>
  } : (!w, !x) -> !x
  return %0, %1 : !x, !x
}

// -----

// A draw stays where it is.
// CHECK-LABEL: func @draws
// CHECK-COUNT-2: stablehlo.rng
func.func @draws(%w: !mpmd.mesh_tensor<"m", tensor<f32>>) -> (!mpmd.mesh_tensor<"m", tensor<8xf32>>, !mpmd.mesh_tensor<"m", tensor<8xf32>>) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w) (%a: tensor<f32>) {
    %n = stablehlo.constant dense<8> : tensor<1xi64>
    %d = stablehlo.rng %a, %a, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
    mpmd.return %d : tensor<8xf32>
  } : (!mpmd.mesh_tensor<"m", tensor<f32>>) -> !mpmd.mesh_tensor<"m", tensor<8xf32>>
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%w) (%a: tensor<f32>) {
    %n = stablehlo.constant dense<8> : tensor<1xi64>
    %d = stablehlo.rng %a, %a, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
    mpmd.return %d : tensor<8xf32>
  } : (!mpmd.mesh_tensor<"m", tensor<f32>>) -> !mpmd.mesh_tensor<"m", tensor<8xf32>>
  return %0, %1 : !mpmd.mesh_tensor<"m", tensor<8xf32>>, !mpmd.mesh_tensor<"m", tensor<8xf32>>
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<8xf32>>

// What one fragment computes and another one gets from it is computed once.
// CHECK-LABEL: func @computed_once
// CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%arg0)
// CHECK: mpmd.fragment<mesh="m", origin=["g"]> (%0)
func.func @computed_once(%w: !w) -> !w attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w) (%a: tensor<8xf32>) {
    %e = stablehlo.exponential %a : tensor<8xf32>
    mpmd.return %e : tensor<8xf32>
  } : (!w) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0) (%a: tensor<8xf32>) {
    %s = "stablehlo.custom_call"(%a) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    mpmd.return %s : tensor<8xf32>
  } : (!w) -> !w
  return %1 : !w
}

// -----

!e = !mpmd.mesh_tensor<"m", tensor<6x4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<6x4xf32>>
!i = !mpmd.mesh_tensor<"n", tensor<8x1xi32>>
!b = !mpmd.mesh_tensor<"n", tensor<4xf32>>
!y = !mpmd.mesh_tensor<"n", tensor<8x4xf32>>

sdy.mesh @g = <["d"=2]>

// An embedding that tokens choose from, a bias that is added to all rows, and a
// weight of another mesh: it is there before the first reader.
// CHECK-LABEL: func @embedding_and_bias
func.func @embedding_and_bias(%e: !e {sdy.sharding = #sdy.sharding<@g, [{"d"}, {}]>}, %b: !b {sdy.sharding = #sdy.sharding<@g, [{"d"}]>}, %i: !i, %j: !i) -> (!y, !y) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>, <"n" : <["d"=2]>>>} {
  // CHECK: %[[E:.*]] = mpmd.transfer {{.*}} %arg0
  // CHECK: %[[H:.*]]:2 = mpmd.fragment<mesh="n", origin=["hoisted"], {{.*}}out_shardings=[<@g, [{}, {}]>, <@g, [{}]>]> (%[[E]], %arg1)
  // CHECK: mpmd.fragment<mesh="n", origin=["f"], {{.*}} (%[[E]], %arg1, %arg2, %[[H]]#0, %[[H]]#1)
  // CHECK-SAME: %[[WHOLE:arg[0-9]+]]: tensor<6x4xf32>, %[[BIAS:arg[0-9]+]]: tensor<4xf32>)
  // CHECK: "stablehlo.gather"(%[[WHOLE]],
  // CHECK: stablehlo.broadcast_in_dim %[[BIAS]],
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} %e : (!e) -> !n
  %1 = mpmd.fragment<mesh="n", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}]>, <@g, [{"d"}, {}]>]> (%0, %b, %i)
      (%t: tensor<6x4xf32>, %c: tensor<4xf32>, %k: tensor<8x1xi32>) {
    %r = "stablehlo.gather"(%t, %k) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<6x4xf32>, tensor<8x1xi32>) -> tensor<8x4xf32>
    %w = stablehlo.broadcast_in_dim %c, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4xf32>) -> tensor<8x4xf32>
    %s = stablehlo.add %r, %w {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : tensor<8x4xf32>
    mpmd.return %s : tensor<8x4xf32>
  } : (!n, !b, !i) -> !y
  %2 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} %e : (!e) -> !n
  %3 = mpmd.fragment<mesh="n", origin=["f"], in_shardings=[<@g, [{"d"}, {}]>, <@g, [{"d"}]>, <@g, [{"d"}, {}]>]> (%2, %b, %j)
      (%t: tensor<6x4xf32>, %c: tensor<4xf32>, %k: tensor<8x1xi32>) {
    %r = "stablehlo.gather"(%t, %k) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<6x4xf32>, tensor<8x1xi32>) -> tensor<8x4xf32>
    %w = stablehlo.broadcast_in_dim %c, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : (tensor<4xf32>) -> tensor<8x4xf32>
    %s = stablehlo.add %r, %w {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"d"}, {}]>]>} : tensor<8x4xf32>
    mpmd.return %s : tensor<8x4xf32>
  } : (!n, !b, !i) -> !y
  return %1, %3 : !y, !y
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
!n = !mpmd.mesh_tensor<"m", tensor<8xf32>>

sdy.mesh @g = <["d"=2]>

// The norm of a weight, by its largest element; the least is another one, and
// so is a sum with a body of its own.
// CHECK-LABEL: func @norm
func.func @norm(%w: !w) -> (!n, !n) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  // CHECK: %[[H:.*]] = mpmd.fragment<mesh="m", origin=["hoisted"]> (%arg0)
  // CHECK: %[[MAX:.*]] = stablehlo.reduce{{.*}} applies stablehlo.maximum
  // CHECK-NEXT: mpmd.return %[[MAX]]
  // CHECK: origin=["f"]> (%arg0, %[[H]])
  // CHECK-NOT: stablehlo.maximum
  // CHECK: stablehlo.minimum
  // CHECK: origin=["g"]> (%arg0, %[[H]])
  // CHECK-NOT: stablehlo.maximum
  // CHECK: stablehlo.add
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w) (%a: tensor<4x8xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %m = stablehlo.reduce(%a init: %z) applies stablehlo.minimum across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %s = "stablehlo.custom_call"(%r, %m) {call_target_name = "opaque"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    mpmd.return %s : tensor<8xf32>
  } : (!w) -> !n
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%w) (%a: tensor<4x8xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %m = stablehlo.reduce(%a init: %z) across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
     reducer(%p: tensor<f32>, %q: tensor<f32>) {
      %t = stablehlo.add %p, %z : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }
    %s = "stablehlo.custom_call"(%r, %m) {call_target_name = "opaque"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    mpmd.return %s : tensor<8xf32>
  } : (!w) -> !n
  return %0, %1 : !n, !n
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<8xf32>, memory_kind="pinned_host">
!d = !mpmd.mesh_tensor<"m", tensor<8xf32>>
!s = !mpmd.mesh_tensor<"m", tensor<?xf32>>

// What is in host memory, and what has no static shape.
// CHECK-LABEL: func @leaves_alone
// CHECK-NOT: hoisted
// CHECK-COUNT-2: stablehlo.exponential
func.func @leaves_alone(%w: !w, %s: !s) -> (!d, !s, !d, !s) attributes {
    topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %s) (%a: tensor<8xf32>, %b: tensor<?xf32>) {
    %e = stablehlo.exponential %a : tensor<8xf32>
    %f = "stablehlo.custom_call"(%e) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    %t = stablehlo.tanh %b : tensor<?xf32>
    %u = "stablehlo.custom_call"(%t) {call_target_name = "opaque"} : (tensor<?xf32>) -> tensor<?xf32>
    mpmd.return %f, %u : tensor<8xf32>, tensor<?xf32>
  } : (!w, !s) -> (!d, !s)
  %1:2 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %s) (%a: tensor<8xf32>, %b: tensor<?xf32>) {
    %e = stablehlo.exponential %a : tensor<8xf32>
    %f = "stablehlo.custom_call"(%e) {call_target_name = "opaque"} : (tensor<8xf32>) -> tensor<8xf32>
    %t = stablehlo.tanh %b : tensor<?xf32>
    %u = "stablehlo.custom_call"(%t) {call_target_name = "opaque"} : (tensor<?xf32>) -> tensor<?xf32>
    mpmd.return %f, %u : tensor<8xf32>, tensor<?xf32>
  } : (!w, !s) -> (!d, !s)
  return %0#0, %0#1, %1#0, %1#1 : !d, !s, !d, !s
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
!s = !mpmd.mesh_tensor<"m", tensor<4x4xf32>>

// Each stage computes what it reads, from the inputs, though another stage does first
// what reads what is computed there before by now.
// CHECK-LABEL: func @two_stages
// CHECK-SAME:    (%[[W:arg[0-9]+]]:
// CHECK:         mpmd.fragment<mesh="m", origin=["hoisted"]> (%[[W]]) (%[[A0:.*]]: tensor<4x8xf32>) {
// CHECK:           %[[P0:.*]] = stablehlo.dot_general %[[A0]], %[[A0]]
// CHECK:           %[[B0:.*]] = stablehlo.broadcast_in_dim %[[P0]]
// CHECK-NEXT:      stablehlo.sine %[[B0]]
// CHECK:         mpmd.fragment<mesh="m", origin=["hoisted"]> (%[[W]]) (%[[A1:.*]]: tensor<4x8xf32>) {
// CHECK:           %[[P1:.*]] = stablehlo.dot_general %[[A1]], %[[A1]]
// CHECK:           %[[B1:.*]] = stablehlo.broadcast_in_dim %[[P1]]
// CHECK-NEXT:      stablehlo.sine %[[B1]]
func.func @two_stages(%w: !w) -> (!s, !s, !s, !s) attributes {topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%w) (%a: tensor<4x8xf32>) {
    %p = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %b = stablehlo.broadcast_in_dim %p, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.sine %b : tensor<4x4xf32>
    %c = "stablehlo.custom_call"(%s) {call_target_name = "opaque0"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mpmd.return %c : tensor<4x4xf32>
  } : (!w) -> !s
  %1 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%w) (%a: tensor<4x8xf32>) {
    %p = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %b = stablehlo.broadcast_in_dim %p, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.sine %b : tensor<4x4xf32>
    %c = "stablehlo.custom_call"(%s) {call_target_name = "opaque1"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mpmd.return %c : tensor<4x4xf32>
  } : (!w) -> !s
  %2 = mpmd.fragment<mesh="m", origin=["g"], stage=1> (%w) (%a: tensor<4x8xf32>) {
    %p = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %b = stablehlo.broadcast_in_dim %p, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.sine %b : tensor<4x4xf32>
    %c = "stablehlo.custom_call"(%s) {call_target_name = "opaque2"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mpmd.return %c : tensor<4x4xf32>
  } : (!w) -> !s
  %3 = mpmd.fragment<mesh="m", origin=["g"], stage=1> (%w) (%a: tensor<4x8xf32>) {
    %p = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %b = stablehlo.broadcast_in_dim %p, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.sine %b : tensor<4x4xf32>
    %c = "stablehlo.custom_call"(%s) {call_target_name = "opaque3"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mpmd.return %c : tensor<4x4xf32>
  } : (!w) -> !s
  return %0, %1, %2, %3 : !s, !s, !s, !s
}

// -----

!w = !mpmd.mesh_tensor<"m", tensor<8xf32>>

sdy.mesh @g = <["d"=2]>
sdy.mesh @one = <[], device_ids=[0]>
sdy.mesh @other = <["z"=2]>

// What a fragment passes on is on its mesh; within a body, a sharding may be on
// another one.
// CHECK-LABEL: func @shardings_of_bodies
// CHECK-NOT: hoisted
func.func @shardings_of_bodies(%w: !w, %x: !w, %y: !w) -> (!w, !w) attributes {topology = #mpmd.topology<<"m" : <["d"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %x) (%a: tensor<8xf32>, %b: tensor<8xf32>) {
    %s = stablehlo.sine %a {sdy.sharding = #sdy.sharding_per_value<[<@other, [{"z"}]>]>} : tensor<8xf32>
    %c = stablehlo.cosine %a {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : tensor<8xf32>
    %t = stablehlo.add %s, %b : tensor<8xf32>
    %u = stablehlo.add %c, %t : tensor<8xf32>
    mpmd.return %u : tensor<8xf32>
  } : (!w, !w) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %y) (%a: tensor<8xf32>, %b: tensor<8xf32>) {
    %s = stablehlo.sine %a {sdy.sharding = #sdy.sharding_per_value<[<@other, [{"z"}]>]>} : tensor<8xf32>
    %c = stablehlo.cosine %a {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : tensor<8xf32>
    %t = stablehlo.add %s, %b : tensor<8xf32>
    %u = stablehlo.add %c, %t : tensor<8xf32>
    mpmd.return %u : tensor<8xf32>
  } : (!w, !w) -> !w
  return %0, %1 : !w, !w
}
