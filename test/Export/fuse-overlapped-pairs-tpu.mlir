// RUN: mpmd-opt %s -mpmd-fuse-overlapped-pairs=device=tpu-v5p | FileCheck %s
// RUN: mpmd-opt %s -mpmd-fuse-overlapped-pairs=device=h100 | FileCheck %s --check-prefix=GPU

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{}, {"x"}]>>
!r = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{"x"}, {}]>>
!n = !mpmd.mesh_tensor<"n", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

sdy.mesh @mesh = <["x"=2]>

// The exchanges of a TPU wait for all kernels of "f" and of the early half, so that a pair
// of these hides nothing. The late half of the first pair, which would keep "n" waiting,
// hides the exchanges of the second one. On a GPU each pair hides its own.
// CHECK-LABEL: func @hides_pairs_in_late_halves
// CHECK:         mpmd.fragment<mesh="m", origin=["f", "g"(1)]>
// CHECK-SAME:      results = 2 : i64}]
// CHECK:         mpmd.fragment<mesh="m", origin=["f", "g"(1)]>
// CHECK-SAME:      mpmd.overlapped = [{origin = [#mpmd.user_origin<"f">], results = 1 : i64}, {origin = [#mpmd.user_origin<"g"(1)>], results = 3 : i64}]
// CHECK:         mpmd.fragment<mesh="m", origin=["g"(1)]> {{.*}}call_counter = 2
// CHECK-NOT:     origin=["g"(1)]
// GPU-LABEL:   func @hides_pairs_in_late_halves
// GPU-COUNT-2:   mpmd.fragment<mesh="m", origin=["g"(1)]>
func.func @hides_pairs_in_late_halves(%x: !m) -> (!r, !m, !r, !m, !r, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 3 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l) {
    %9 = stablehlo.log %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : !l
    mpmd.return %9 : !l
  } : (!m) -> !r
  %1:2 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 1 : ui32, split_keep_transferred, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.log %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : !l
    mpmd.return %9, %9 : !l, !l
  } : (!m) -> (!r, !m)
  %2 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%1#1) {call_counter = 1 : ui32, split_drop_transferred, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.log %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : !l
    %10 = stablehlo.dot_general %9, %9, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (!l, !l) -> tensor<4xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<4xf32>) -> !l
    %12 = stablehlo.dot_general %11, %9, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (!l, !l) -> tensor<4xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [1] : (tensor<4xf32>) -> !l
    mpmd.return %13 : !l
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 4 : ui32, mpmd.overlap = array<i64: 1, 0>} (%a: !l) {
    %9 = stablehlo.log %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : !l
    mpmd.return %9 : !l
  } : (!m) -> !r
  %4:2 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 2 : ui32, split_keep_transferred, mpmd.overlap = array<i64: 1, 1>} (%a: !l) {
    %9 = stablehlo.log %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : !l
    mpmd.return %9, %9 : !l, !l
  } : (!m) -> (!r, !m)
  %5 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%4#1) {call_counter = 2 : ui32, split_drop_transferred, mpmd.overlap = array<i64: 1, 1>} (%a: !l) {
    %9 = stablehlo.log %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : !l
    %10 = stablehlo.dot_general %9, %9, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (!l, !l) -> tensor<4xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<4xf32>) -> !l
    %12 = stablehlo.dot_general %11, %9, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (!l, !l) -> tensor<4xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [1] : (tensor<4xf32>) -> !l
    mpmd.return %13 : !l
  } : (!m) -> !m
  %6 = mpmd.transfer %1#0 : (!r) -> !n
  %7 = mpmd.fragment<mesh="n", origin=["h"(1)]> (%6) {call_counter = 1 : ui32} (%a: !l) {
    %9 = stablehlo.log %a : !l
    %10 = stablehlo.dot_general %9, %9, contracting_dims = [1] x [0] : (!l, !l) -> !l
    %11 = stablehlo.dot_general %10, %10, contracting_dims = [1] x [0] : (!l, !l) -> !l
    %12 = stablehlo.dot_general %11, %11, contracting_dims = [1] x [0] : (!l, !l) -> !l
    %13 = stablehlo.dot_general %12, %12, contracting_dims = [1] x [0] : (!l, !l) -> !l
    %14 = stablehlo.dot_general %13, %13, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %14 : !l
  } : (!n) -> !n
  %8 = mpmd.transfer %7 : (!n) -> !m
  %10 = mpmd.fragment<mesh="m", origin=["l"(1)]> (%8) {call_counter = 1 : ui32} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  return %0, %2, %3, %5, %4#0, %10 : !r, !m, !r, !m, !r, !m
}
