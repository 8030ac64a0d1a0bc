// RUN: mpmd-opt %s -mpmd-remat-fragment --remark-format=emitRemark --remarks-filter=.* -o /dev/null 2>&1 | FileCheck %s
// RUN: mpmd-opt %s -mpmd-remat-fragment=merge-remat-fragments=true --remark-format=emitRemark --remarks-filter=.* -o /dev/null 2>&1 | FileCheck %s

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!h1 = !mpmd.mesh_tensor<"m1", tensor<8xbf16>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// Of the three results, one is returned and one was read by nothing.
// CHECK: [Passed] recomputed {{.*}}1 forward fragments are recomputed for their backward fragments; 16 bytes are no longer kept until these
func.func @counts_results_that_nothing_reads_any_more(%x: !m1, %h: !h1) -> (!m1, !h1) attributes {topology = #topology} {
  %f:3 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %h) {call_counter = 0 : ui32} (%u: !l, %v: tensor<8xbf16>) {
    mpmd.return %u, %v, %u : !l, tensor<8xbf16>, !l
  } : (!m1, !h1) -> (!m1, !h1, !m1)
  %o = mpmd.fragment<mesh="m1", origin=["o"]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %b = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%f#0, %f#1) {call_counter = 0 : ui32} (%u: !l, %v: tensor<8xbf16>) {
    mpmd.return %u : !l
  } : (!m1, !h1) -> !m1
  return %b, %f#1 : !m1, !h1
}

// What is read before the backward fragment is no longer kept until there.
// CHECK: [Passed] recomputed {{.*}}1 forward fragments are recomputed for their backward fragments; 16 bytes are no longer kept until these
func.func @counts_results_that_are_read_earlier_only(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %o = mpmd.fragment<mesh="m1", origin=["o"]> (%f) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %b = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%f) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %b, %o : !m1, !m1
}

// A token takes none.
// CHECK: [Passed] recomputed {{.*}}1 forward fragments are recomputed for their backward fragments; 16 bytes are no longer kept until these
func.func @counts_no_tokens(%x: !m1, %t: !stablehlo.token) -> (!m1, !m1) attributes {topology = #topology} {
  %f:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %t) {call_counter = 0 : ui32} (%u: !l, %k: !stablehlo.token) {
    mpmd.return %u, %k : !l, !stablehlo.token
  } : (!m1, !stablehlo.token) -> (!m1, !stablehlo.token)
  %o = mpmd.fragment<mesh="m1", origin=["o"]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %b = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%f#0, %f#1) {call_counter = 0 : ui32} (%u: !l, %k: !stablehlo.token) {
    mpmd.return %u : !l
  } : (!m1, !stablehlo.token) -> !m1
  return %b, %o : !m1, !m1
}
