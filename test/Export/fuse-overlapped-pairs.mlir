// RUN: mpmd-opt %s -mpmd-fuse-overlapped-pairs=only-with-collectives=false -split-input-file | FileCheck %s
// RUN: mpmd-opt %s -mpmd-fuse-overlapped-pairs -split-input-file | FileCheck %s --check-prefix=EXCHANGES
// RUN: mpmd-opt %s -mpmd-fuse-overlapped-pairs=fuse=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: mpmd-opt %s -mpmd-fuse-overlapped-pairs=only-with-collectives=false -split-input-file --remarks-filter=overlap --remark-policy=all --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// OFF-NOT: mpmd.overlap

!l = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// The parts keep the order of their operands, results and effects.
// CHECK-LABEL: func @pairs_neighbours
// CHECK-NEXT:    %[[P:.*]]:3 = mpmd.fragment<mesh="m", origin=["f", "g"(1)]> (%arg0, %arg1) {arg_attrs = [{mhlo.layout_mode = "auto"}, {}], mpmd.overlapped = [{origin = [#mpmd.user_origin<"f">], results = 2 : i64, stage_id = 0 : i64}, {origin = [#mpmd.user_origin<"g"(1)>], results = 1 : i64, stage_id = 1 : i64}]} (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>) {
// CHECK-NEXT:      %[[E:.*]] = stablehlo.exponential %[[A]]
// CHECK-NEXT:      %[[L:.*]] = stablehlo.log %[[B]]
// CHECK-NEXT:      mpmd.return %[[E]], %[[A]], %[[L]]
// CHECK:         return %[[P]]#0, %[[P]]#1, %[[P]]#2
// EXCHANGES-LABEL: func @pairs_neighbours
// EXCHANGES-NOT:     mpmd.overlap
// EXCHANGES-COUNT-2: mpmd.fragment
// OFF-LABEL: func @pairs_neighbours
// OFF-COUNT-2: mpmd.fragment
// REMARK: remark: [Passed] overlapped {{.*}}fragment ["f"] of microbatch 3{{.*}}fragment ["g"(1)] of microbatch 1{{.*}}are fused into one program
func.func @pairs_neighbours(%x: !m, %y: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%x) {arg_attrs = [{mhlo.layout_mode = "auto"}], call_counter = 3 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l) {
    %2 = stablehlo.exponential %a : !l
    mpmd.return %2, %a : !l, !l
  } : (!m) -> (!m, !m)
  %1 = mpmd.fragment<mesh="m", origin=["g"(1)], stage=1> (%y) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %2 = stablehlo.log %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  return %0#0, %0#1, %1 : !m, !m, !m
}

// A backward that was split is two fragments; what one half hands to the other is no
// result. What both parts read is one operand.
// CHECK-LABEL: func @pairs_both_halves
// CHECK-NEXT:    %{{.*}}:3 = mpmd.fragment<mesh="m", origin=["f", "g"(1)]> (%arg0) {mpmd.overlapped = [{origin = [#mpmd.user_origin<"f">], results = 1 : i64, stage_id = 0 : i64}, {origin = [#mpmd.user_origin<"g"(1)>], results = 2 : i64, stage_id = 1 : i64}]}
func.func @pairs_both_halves(%x: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%x) {call_counter = 3 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l) {
    %2 = stablehlo.exponential %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  %1:2 = mpmd.fragment<mesh="m", origin=["g"(1)], stage=1> (%x) {call_counter = 1 : ui32, split_keep_transferred, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %2 = stablehlo.log %a : !l
    mpmd.return %2, %a : !l, !l
  } : (!m) -> (!m, !m)
  %2 = mpmd.fragment<mesh="m", origin=["g"(1)], stage=1> (%1#1) {call_counter = 1 : ui32, split_drop_transferred, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %2 = stablehlo.abs %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  return %0, %1#0, %2 : !m, !m, !m
}

// CHECK-LABEL: func @leaves_direct_dependency
// CHECK-COUNT-2: mpmd.fragment<
// REMARK: remark: [Missed] not overlapped {{.*}}are not fused: {{.*}}the second reads what the first computes
func.func @leaves_direct_dependency(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l) {
    %2 = stablehlo.exponential %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%0) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %2 = stablehlo.log %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  return %1 : !m
}

// CHECK-LABEL: func @leaves_what_is_not_adjacent
// CHECK-COUNT-3: mpmd.fragment<
// REMARK: remark: [Missed] not overlapped {{.*}}are not fused: {{.*}}the first is not right before the second on its mesh
func.func @leaves_what_is_not_adjacent(%x: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l) {
    %2 = stablehlo.exponential %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["h"]> (%x) (%a: !l) {
    %2 = stablehlo.abs %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %2 = stablehlo.log %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  return %0, %1, %2 : !m, !m, !m
}

// A part that was merged into something else has no mark any more.
// CHECK-LABEL: func @leaves_a_single_part
// CHECK-NOT:     mpmd.overlap
func.func @leaves_a_single_part(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  return %0 : !m
}

// -----

!l = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

// What the second part reads comes after the first in the block, and what reads the first
// is before the second: the pair goes between.
// CHECK-LABEL: func @sorts_what_is_around
// CHECK:         %[[H:.*]] = mpmd.fragment<mesh="n", origin=["h"(1)]>
// CHECK:         %[[T:.*]] = mpmd.transfer %[[H]]
// CHECK-NEXT:    %[[P:.*]]:2 = mpmd.fragment<mesh="m", origin=["f", "g"(1)]> (%arg0, %[[T]])
// CHECK:         %[[S:.*]] = mpmd.transfer %[[P]]#0
// CHECK-NEXT:    mpmd.fragment<mesh="n", origin=["k"]> (%[[S]])
func.func @sorts_what_is_around(%x: !m, %y: !n) -> (!m, !n) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 7, 0>} (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="n", origin=["h"(1)]> (%y) {call_counter = 0 : ui32} (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  %2 = mpmd.transfer %0 : (!m) -> !n
  %3 = mpmd.fragment<mesh="n", origin=["k"]> (%2) {call_counter = 1 : ui32} (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  %4 = mpmd.transfer %1 : (!n) -> !m
  %5 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%4) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 7, 1>} (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  return %5, %3 : !m, !n
}

// CHECK-LABEL: func @leaves_what_depends_by_way_of_others
// CHECK-COUNT-3: mpmd.fragment<
// REMARK: remark: [Missed] not overlapped {{.*}}are not fused: {{.*}}the second needs the first, by way of other meshes
func.func @leaves_what_depends_by_way_of_others(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 7, 0>} (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %1 = mpmd.transfer %0 : (!m) -> !n
  %2 = mpmd.fragment<mesh="n", origin=["h"]> (%1) (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  %3 = mpmd.transfer %2 : (!n) -> !m
  %4 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%3) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 7, 1>} (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  return %4 : !m
}

// Each mesh could pair alone, but not both: either pair would wait for the other.
// CHECK-LABEL: func @leaves_one_of_two_that_wait_for_each_other
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         mpmd.fragment<mesh="n", origin=["f", "g"(1)]>
// CHECK:         mpmd.fragment<mesh="m", origin=["g"(1)]>
func.func @leaves_one_of_two_that_wait_for_each_other(%x: !m, %y: !n) -> (!m, !n) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="n", origin=["f"]> (%y) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 1, 0>} (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  %2 = mpmd.transfer %0 : (!m) -> !n
  %3 = mpmd.transfer %1 : (!n) -> !m
  %4 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%3) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %5 = mpmd.fragment<mesh="n", origin=["g"(1)]> (%2) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 1, 1>} (%a: !l) {
    %9 = stablehlo.exponential %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  return %4, %5 : !m, !n
}

// The gradient is there when the forward has ended, and another mesh waits for that.
// CHECK-LABEL: func @leaves_what_waits_too_long
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"]>
// REMARK: remark: [Missed] not overlapped {{.*}}are not fused: {{.*}}the first, or what reads it, would wait longer than overlapping saves
func.func @leaves_what_waits_too_long(%x: !m, %y: !n) -> (!m, !n) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 7, 0>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="n", origin=["h"(1)]> (%y) {call_counter = 0 : ui32} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    %8 = stablehlo.add %9, %9 : !l
    mpmd.return %8 : !l
  } : (!n) -> !n
  %2 = mpmd.transfer %1 : (!n) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%2) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 7, 1>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %4 = mpmd.transfer %0 : (!m) -> !n
  %5 = mpmd.fragment<mesh="n", origin=["k"]> (%4) {call_counter = 1 : ui32} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  return %3, %5 : !m, !n
}

// The same, where no other mesh waits: the mesh would be idle before the gradient.
// CHECK-LABEL: func @waits_where_that_costs_nothing
// CHECK:         mpmd.fragment<mesh="m", origin=["f", "g"(1)]>
func.func @waits_where_that_costs_nothing(%x: !m, %y: !n) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 7, 0>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="n", origin=["h"(1)]> (%y) {call_counter = 0 : ui32} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    %8 = stablehlo.add %9, %9 : !l
    mpmd.return %8 : !l
  } : (!n) -> !n
  %2 = mpmd.transfer %1 : (!n) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%2) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 7, 1>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  return %3, %0 : !m, !m
}

// Both can start at once, but what reads the forward would start when the backward ends.
// CHECK-LABEL: func @leaves_what_others_wait_for
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"]>
func.func @leaves_what_others_wait_for(%x: !m) -> (!m, !n) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 7, 0>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 7, 1>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    %8 = stablehlo.add %9, %9 : !l
    mpmd.return %8 : !l
  } : (!m) -> !m
  %2 = mpmd.transfer %0 : (!m) -> !n
  %3 = mpmd.fragment<mesh="n", origin=["k"]> (%2) {call_counter = 1 : ui32} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    %8 = stablehlo.add %9, %9 : !l
    mpmd.return %8 : !l
  } : (!n) -> !n
  return %1, %3 : !m, !n
}

// Another mesh waits for the first half of the backward, nothing for the second.
// CHECK-LABEL: func @hands_out_before_the_late_half
// CHECK-NEXT:    %[[P:.*]]:2 = mpmd.fragment<mesh="m", origin=["f", "g"(1)]> (%arg0) {mpmd.overlapped = [{origin = [#mpmd.user_origin<"f">], results = 1 : i64}, {origin = [#mpmd.user_origin<"g"(1)>], results = 1 : i64}]}
// CHECK:         mpmd.fragment<mesh="m", origin=["g"(1)]> (%[[P]]#1) {{.*}}split_drop_transferred
// REMARK: remark: [Passed] overlapped {{.*}}are fused into one program{{.*}}; its late half follows
func.func @hands_out_before_the_late_half(%x: !m) -> (!m, !m, !n) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 7, 0>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 0 : ui32, split_keep_transferred, mpmd.overlap = array<i64: 7, 1>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%1) {call_counter = 0 : ui32, split_drop_transferred, mpmd.overlap = array<i64: 7, 1>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %3 = mpmd.transfer %1 : (!m) -> !n
  %4 = mpmd.fragment<mesh="n", origin=["k"]> (%3) {call_counter = 0 : ui32} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  return %0, %2, %4 : !m, !m, !n
}

// The next mesh reads the result of the forward later, but gets it first.
// CHECK-LABEL: func @sends_in_order
// CHECK-NEXT:    %[[P:.*]]:2 = mpmd.fragment<mesh="m", origin=["f", "g"(1)]> (%arg0)
// CHECK:         mpmd.transfer %[[P]]#0
// CHECK-NEXT:    mpmd.transfer %[[P]]#1
func.func @sends_in_order(%x: !m) -> (!n, !n) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 7, 0>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 0 : ui32, mpmd.overlap = array<i64: 7, 1>} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!m) -> !m
  %2 = mpmd.transfer %1 : (!m) -> !n
  %3 = mpmd.fragment<mesh="n", origin=["h"]> (%2) {call_counter = 0 : ui32} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  %4 = mpmd.transfer %0 : (!m) -> !n
  %5 = mpmd.fragment<mesh="n", origin=["k"]> (%4) {call_counter = 1 : ui32} (%a: !l) {
    %9 = stablehlo.add %a, %a : !l
    mpmd.return %9 : !l
  } : (!n) -> !n
  return %3, %5 : !n, !n
}

// -----

!l = tensor<4x4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{}, {"x"}]>>
!w = !mpmd.mesh_tensor<"m", tensor<4x4xf32>, sharding=<@mesh, [{"x"}, {}]>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

sdy.mesh @mesh = <["x"=2]>

// A contracted dimension that is split makes an all-reduce.
// EXCHANGES-LABEL: func @finds_collectives_of_shardings
// EXCHANGES-NEXT:    mpmd.fragment<mesh="m", origin=["f", "g"(1)]>
func.func @finds_collectives_of_shardings(%x: !m, %w: !w) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %w) {call_counter = 3 : ui32, mpmd.overlap = array<i64: 0, 0>} (%a: !l, %b: !l) {
    %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
    mpmd.return %2 : !l
  } : (!m, !w) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"(1)]> (%x) {call_counter = 1 : ui32, mpmd.overlap = array<i64: 0, 1>} (%a: !l) {
    %2 = stablehlo.log %a : !l
    mpmd.return %2 : !l
  } : (!m) -> !m
  return %0, %1 : !m, !m
}
