// RUN: mpmd-opt %s -mpmd-fuse-overlapped-pairs=device=h100 -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -mpmd-fuse-overlapped-pairs -split-input-file | FileCheck %s --check-prefix=WORK

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{}, {"x"}]>>
!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{"x"}, {}]>>
!n = !mpmd.mesh_tensor<"n", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

sdy.mesh @mesh = <["x"=2]>

// The sum over two devices takes 5 us, in which the backward has work.
// CHECK-LABEL: func @pairs_what_is_there
// CHECK:         mpmd.fragment<mesh="m", origin=["f", "g"(1)]>
func.func @pairs_what_is_there(%x: !m, %w: !w) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %w) {call_counter = 3 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l, %b: !l) {
    %9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %9 : !l
  } : (!m, !w) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  return %0, %1 : !m, !m
}

// -----

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{}, {"x"}]>>
!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{"x"}, {}]>>
!n = !mpmd.mesh_tensor<"n", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

sdy.mesh @mesh = <["x"=2]>

// The transfer of the gradient takes as long as the sum: its kernel and the transfer
// are longer than what could be hidden. Counted in operations, transfers are nothing.
// CHECK-LABEL: func @leaves_what_travels_for_longer
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"]>
// WORK-LABEL:  func @leaves_what_travels_for_longer
// WORK:          mpmd.fragment<mesh="m", origin=["f", "g"(1)]>
func.func @leaves_what_travels_for_longer(%x: !m, %w: !w, %y: !n) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %w) {call_counter = 3 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l, %b: !l) {
    %9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %9 : !l
  } : (!m, !w) -> !m
  %1 = mpmd.fragment<mesh="n", origin=["h"(1)]> (%y) {call_counter = 1 : ui32} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  %2 = mpmd.transfer %1 : (!n) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%2) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.log %a : !l
    %8 = stablehlo.dot_general %9, %a, contracting_dims = [0] x [0] : (!l, !l) -> !l
    mpmd.return %8 : !l
  } : (!m) -> !m
  return %0, %3 : !m, !m
}

// -----

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{}, {"x"}]>>
!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{"x"}, {}]>>
!n = !mpmd.mesh_tensor<"n", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

sdy.mesh @mesh = <["x"=2]>

// Nothing waits for the late half, and "n" for what comes after it: it waits until its
// mesh has nothing else to do. Counted in operations there are no gaps.
// CHECK-LABEL: func @postpones_late_halves
// CHECK:         mpmd.fragment<mesh="m", origin=["f", "g"(1)]>
// CHECK:         mpmd.fragment<mesh="m", origin=["k"]>
// CHECK:         mpmd.fragment<mesh="m", origin=["g"(1)]> {{.*}}split_drop_transferred
// CHECK:         mpmd.fragment<mesh="m", origin=["l"]>
// WORK-LABEL:  func @postpones_late_halves
// WORK:          mpmd.fragment<mesh="m", origin=["f", "g"(1)]>
// WORK:          mpmd.fragment<mesh="m", origin=["k"]>
// WORK-NOT:      split_drop_transferred
func.func @postpones_late_halves(%x: !m, %w: !w) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %w) {call_counter = 3 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l, %b: !l) {
    %9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %9 : !l
  } : (!m, !w) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 1 : ui32, split_keep_transferred, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%1) {call_counter = 1 : ui32, split_drop_transferred, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["k"]> (%x) {call_counter = 4 : ui32} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %4 = mpmd.transfer %3 : (!m) -> !n
  %5 = mpmd.fragment<mesh="n", origin=["h"]> (%4) {call_counter = 4 : ui32} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  %6 = mpmd.transfer %5 : (!n) -> !m
  %7 = mpmd.fragment<mesh="m", origin=["l"]> (%6) {call_counter = 4 : ui32} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  return %0, %2, %7 : !m, !m, !m
}

// -----

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{}, {"x"}]>>
!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{"x"}, {}]>>
!n = !mpmd.mesh_tensor<"n", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

sdy.mesh @mesh = <["x"=2]>

// The late half has work for the time in which the sum of what is in no pair takes the
// wire. Counted in operations nothing is hidden, since nothing waits.
// CHECK-LABEL: func @hides_in_late_halves
// CHECK:         mpmd.fragment<mesh="m", origin=["f", "g"(1)]>
// CHECK:         mpmd.fragment<mesh="m", origin=["k", "g"(1)]>
// CHECK-SAME:      mpmd.overlapped = [{origin = [#mpmd.user_origin<"k">], results = 1 : i64}, {origin = [#mpmd.user_origin<"g"(1)>], results = 1 : i64}]
// CHECK-NOT:     split_drop_transferred
// WORK-LABEL:  func @hides_in_late_halves
// WORK:          mpmd.fragment<mesh="m", origin=["k"]>
func.func @hides_in_late_halves(%x: !m, %w: !w) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %w) {call_counter = 3 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l, %b: !l) {
    %9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %9 : !l
  } : (!m, !w) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 1 : ui32, split_keep_transferred, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%1) {call_counter = 1 : ui32, split_drop_transferred, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["k"]> (%x, %w) {call_counter = 4 : ui32} (%a: !l, %b: !l) {
    %9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %9 : !l
  } : (!m, !w) -> !m
  return %0, %2, %3 : !m, !m, !m
}

// -----

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{}, {"x"}]>>
!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{"x"}, {}]>>
!n = !mpmd.mesh_tensor<"n", tensor<4x4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

sdy.mesh @mesh = <["x"=2]>

// While the sums of microbatches 1 and 2 take the wire, each could hide a late half. With
// that of microbatch 2 that half would make "n" wait, and the program longer than with
// all halves at the end; with that of microbatch 1 the program is shorter.
// CHECK-LABEL: func @waits_for_no_late_half_at_the_end
// CHECK:         mpmd.fragment<mesh="m", origin=["f", "g"(1)]>
// CHECK:         mpmd.fragment<mesh="m", origin=["g"(1)]>
// CHECK-SAME:      mpmd.overlapped = [{origin = [#mpmd.user_origin<"g"(1)>], results = 1 : i64}, {origin = [#mpmd.user_origin<"g"(1)>], results = 1 : i64}]
// CHECK:         mpmd.fragment<mesh="m", origin=["g"(1)]> {{.*}}call_counter = 2 : ui32, split_keep_transferred
// CHECK:         mpmd.fragment<mesh="n"
// CHECK:         mpmd.fragment<mesh="m", origin=["g"(1)]> {{.*}}call_counter = 1 : ui32, split_drop_transferred
// CHECK:         mpmd.fragment<mesh="m", origin=["g"(1)]> {{.*}}call_counter = 2 : ui32, split_drop_transferred
// Counted in operations no half waits.
// WORK-LABEL:  func @waits_for_no_late_half_at_the_end
// WORK-COUNT-2:  split_drop_transferred
func.func @waits_for_no_late_half_at_the_end(%x: !m, %w: !w) -> (!m, !m, !m, !m, !n) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %w) {call_counter = 4 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l, %b: !l) {
    %9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %9 : !l
  } : (!m, !w) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 0 : ui32, split_keep_transferred, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.log %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%1) {call_counter = 0 : ui32, split_drop_transferred, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.dot_general %a, %a, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (!l, !l) -> tensor<4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<4xf32>) -> !l
    %11 = stablehlo.dot_general %10, %10, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (!l, !l) -> tensor<4xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [1] : (tensor<4xf32>) -> !l
    mpmd.return %12 : !l
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x, %w) {call_counter = 1 : ui32, split_keep_transferred} (%a: !l, %b: !l) {
    %9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %9 : !l
  } : (!m, !w) -> !m
  %4 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%3) {call_counter = 1 : ui32, split_drop_transferred} (%a: !l) {
    %9 = stablehlo.dot_general %a, %a, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (!l, !l) -> tensor<4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<4xf32>) -> !l
    %11 = stablehlo.dot_general %10, %10, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (!l, !l) -> tensor<4xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [1] : (tensor<4xf32>) -> !l
    mpmd.return %12 : !l
  } : (!m) -> !m
  %5 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x, %w) {call_counter = 2 : ui32, split_keep_transferred} (%a: !l, %b: !l) {
    %9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %9 : !l
  } : (!m, !w) -> !m
  %6 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%5) {call_counter = 2 : ui32, split_drop_transferred} (%a: !l) {
    %9 = stablehlo.dot_general %a, %a, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (!l, !l) -> tensor<4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<4xf32>) -> !l
    %11 = stablehlo.dot_general %10, %10, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (!l, !l) -> tensor<4xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [1] : (tensor<4xf32>) -> !l
    mpmd.return %12 : !l
  } : (!m) -> !m
  %7 = mpmd.transfer %5 : (!m) -> !n
  %8 = mpmd.fragment<mesh="n", origin=["h"(1)]> (%7) {call_counter = 2 : ui32} (%a: !l) {
    %9 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (!l, !l) -> !l
    %10 = stablehlo.dot_general %9, %a, contracting_dims = [1] x [0] : (!l, !l) -> !l
    %11 = stablehlo.dot_general %10, %a, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %11 : !l
  } : (!n) -> !n
  return %0, %2, %4, %6, %8 : !m, !m, !m, !m, !n
}
