// RUN: mpmd-opt %s '-mpmd-offload-activations=bound=auto device=%S/Inputs/slow-host.json custom-costs="work=flops:1e10"' | FileCheck %s

!l = tensor<128x1024xf32>
!m = !mpmd.mesh_tensor<"m", tensor<128x1024xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<128x1024xf32>>
#topology = #mpmd.topology<<"m": <["x"=1]>>, <"n": <["x"=1]>>>

// A forward of m takes 27 us and a copy to the host 33; one of n takes 80, and so does a
// backward. The first value to leave has left when the third forward starts, at 93 us
// instead of 54; the fourth one follows, and the last backward of n is as early as before.
// Ops are in the order in which they start.
// CHECK-LABEL: func @forwards_keep_the_pace_of_the_link
// CHECK-SAME:    mpmd.start_order
// CHECK:         %[[F0:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         %[[F1:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         mpmd.fragment<mesh="n", origin=["g"]>
// CHECK:         mpmd.transfer {mpmd.awaited, mpmd.beside = 1 : i64} %[[F1]]#1 {{.*}}pinned_host
// CHECK-NEXT:    %[[F2:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         mpmd.transfer {mpmd.beside = 1 : i64} %[[F2]]#1 {{.*}}pinned_host
// CHECK:         %[[F3:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         mpmd.fragment<mesh="n", origin=["g"(1)]>
// CHECK:         mpmd.transfer %[[F3]]#1 {{.*}}pinned_host
// CHECK:         mpmd.fragment<mesh="n", origin=["g"]>
// CHECK:         mpmd.fragment<mesh="m", origin=["f"(1)]> ({{.*}}, %[[F0]]#1)
func.func @forwards_keep_the_pace_of_the_link(%x: !m, %y: !n) -> (!m) attributes {topology = #topology} {
  %f0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a0: !l) {
    %w = stablehlo.custom_call @work(%a0) : (!l) -> !l
    mpmd.return %w, %a0 : !l, !l
  } : (!m) -> (!m, !m)
  %t0 = mpmd.transfer %f0#0 : (!m) -> !n
  %g0 = mpmd.fragment<mesh="n", origin=["g"]> (%t0) (%a0: !l) {
    %u = stablehlo.custom_call @work(%a0) : (!l) -> !l
    %v = stablehlo.custom_call @work(%u) : (!l) -> !l
    %w = stablehlo.custom_call @work(%v) : (!l) -> !l
    mpmd.return %w : !l
  } : (!n) -> !n
  %h0 = mpmd.fragment<mesh="n", origin=["g"(1)]> (%g0) (%a0: !l) {
    %u = stablehlo.custom_call @work(%a0) : (!l) -> !l
    %v = stablehlo.custom_call @work(%u) : (!l) -> !l
    %w = stablehlo.custom_call @work(%v) : (!l) -> !l
    mpmd.return %w : !l
  } : (!n) -> !n
  %s0 = mpmd.transfer %h0 : (!n) -> !m
  %f1:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a0: !l) {
    %w = stablehlo.custom_call @work(%a0) : (!l) -> !l
    mpmd.return %w, %a0 : !l, !l
  } : (!m) -> (!m, !m)
  %t1 = mpmd.transfer %f1#0 : (!m) -> !n
  %g1 = mpmd.fragment<mesh="n", origin=["g"]> (%t1) (%a0: !l) {
    %u = stablehlo.custom_call @work(%a0) : (!l) -> !l
    %v = stablehlo.custom_call @work(%u) : (!l) -> !l
    %w = stablehlo.custom_call @work(%v) : (!l) -> !l
    mpmd.return %w : !l
  } : (!n) -> !n
  %h1 = mpmd.fragment<mesh="n", origin=["g"(1)]> (%g1) (%a0: !l) {
    %u = stablehlo.custom_call @work(%a0) : (!l) -> !l
    %v = stablehlo.custom_call @work(%u) : (!l) -> !l
    %w = stablehlo.custom_call @work(%v) : (!l) -> !l
    mpmd.return %w : !l
  } : (!n) -> !n
  %s1 = mpmd.transfer %h1 : (!n) -> !m
  %f2:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a0: !l) {
    %w = stablehlo.custom_call @work(%a0) : (!l) -> !l
    mpmd.return %w, %a0 : !l, !l
  } : (!m) -> (!m, !m)
  %t2 = mpmd.transfer %f2#0 : (!m) -> !n
  %g2 = mpmd.fragment<mesh="n", origin=["g"]> (%t2) (%a0: !l) {
    %u = stablehlo.custom_call @work(%a0) : (!l) -> !l
    %v = stablehlo.custom_call @work(%u) : (!l) -> !l
    %w = stablehlo.custom_call @work(%v) : (!l) -> !l
    mpmd.return %w : !l
  } : (!n) -> !n
  %h2 = mpmd.fragment<mesh="n", origin=["g"(1)]> (%g2) (%a0: !l) {
    %u = stablehlo.custom_call @work(%a0) : (!l) -> !l
    %v = stablehlo.custom_call @work(%u) : (!l) -> !l
    %w = stablehlo.custom_call @work(%v) : (!l) -> !l
    mpmd.return %w : !l
  } : (!n) -> !n
  %s2 = mpmd.transfer %h2 : (!n) -> !m
  %f3:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a0: !l) {
    %w = stablehlo.custom_call @work(%a0) : (!l) -> !l
    mpmd.return %w, %a0 : !l, !l
  } : (!m) -> (!m, !m)
  %t3 = mpmd.transfer %f3#0 : (!m) -> !n
  %g3 = mpmd.fragment<mesh="n", origin=["g"]> (%t3) (%a0: !l) {
    %u = stablehlo.custom_call @work(%a0) : (!l) -> !l
    %v = stablehlo.custom_call @work(%u) : (!l) -> !l
    %w = stablehlo.custom_call @work(%v) : (!l) -> !l
    mpmd.return %w : !l
  } : (!n) -> !n
  %h3 = mpmd.fragment<mesh="n", origin=["g"(1)]> (%g3) (%a0: !l) {
    %u = stablehlo.custom_call @work(%a0) : (!l) -> !l
    %v = stablehlo.custom_call @work(%u) : (!l) -> !l
    %w = stablehlo.custom_call @work(%v) : (!l) -> !l
    mpmd.return %w : !l
  } : (!n) -> !n
  %s3 = mpmd.transfer %h3 : (!n) -> !m
  %b0 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%s0, %f0#1) (%a0: !l, %a1: !l) {
    %w = stablehlo.custom_call @work(%a0) : (!l) -> !l
    mpmd.return %w : !l
  } : (!m, !m) -> !m
  %b1 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%s1, %f1#1) (%a0: !l, %a1: !l) {
    %w = stablehlo.custom_call @work(%a0) : (!l) -> !l
    mpmd.return %w : !l
  } : (!m, !m) -> !m
  %b2 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%s2, %f2#1) (%a0: !l, %a1: !l) {
    %w = stablehlo.custom_call @work(%a0) : (!l) -> !l
    mpmd.return %w : !l
  } : (!m, !m) -> !m
  %b3 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%s3, %f3#1) (%a0: !l, %a1: !l) {
    %w = stablehlo.custom_call @work(%a0) : (!l) -> !l
    mpmd.return %w : !l
  } : (!m, !m) -> !m
  return %b3 : !m
}
