// RUN: mpmd-opt %s -mpmd-remat-fragment | FileCheck %s
// RUN: mpmd-opt %s -mpmd-remat-fragment=merge-remat-fragments=true | FileCheck %s --check-prefix=MERGED

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @clones_before_the_backward_fragment
// CHECK-SAME:    (%[[X:.*]]: !mpmd
// MERGED-LABEL: func @clones_before_the_backward_fragment
// MERGED-SAME:    (%[[X:.*]]: !mpmd
func.func @clones_before_the_backward_fragment(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]]:2 = mpmd.fragment<mesh="m1", origin=["net"], stage=3> (%[[X]]) {call_counter = 4 : ui32, note}
  // CHECK:      %[[O:.*]] = mpmd.fragment<mesh="m1", origin=["aux"], stage=9>
  // CHECK:      %[[R:.*]]:2 = mpmd.fragment<mesh="m1", origin=["net"], stage=3> (%[[X]]) {call_counter = 4 : ui32, note, remat}
  // CHECK-NEXT:   stablehlo.negate
  // CHECK:      %[[B:.*]] = mpmd.fragment<mesh="m1", origin=["net"(1)], stage=3> (%[[R]]#1, %[[O]], %[[R]]#0, %[[R]]#1) {call_counter = 4 : ui32, hint}
  // CHECK:      return %[[F]]#0, %[[B]]
  // MERGED-NEXT: %[[F:.*]]:2 = mpmd.fragment<mesh="m1", origin=["net"], stage=3> (%[[X]]) {call_counter = 4 : ui32, note}
  // MERGED:      %[[O:.*]] = mpmd.fragment<mesh="m1", origin=["aux"], stage=9>
  // MERGED:      %[[B:.*]] = mpmd.fragment<mesh="m1", origin=["net", "net"(1)], stage=3> (%[[X]], %[[O]]) {call_counter = 4 : ui32, remat} (%[[P:.*]]: tensor<4xf32>, %[[Q:.*]]: tensor<4xf32>) {
  // MERGED-NEXT:   %[[N:.*]] = stablehlo.negate %[[P]]
  // MERGED-NEXT:   stablehlo.clamp %[[N]], %[[Q]], %[[P]]
  // MERGED:      return %[[F]]#0, %[[B]]
  %f:2 = mpmd.fragment<mesh="m1", origin=["net"], stage=3> (%x) {call_counter = 4 : ui32, note} (%u: !l) {
    %n = stablehlo.negate %u : !l
    mpmd.return %u, %n : !l, !l
  } : (!m1) -> (!m1, !m1)
  %o = mpmd.fragment<mesh="m1", origin=["aux"], stage=9> (%x) {call_counter = 4 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %b = mpmd.fragment<mesh="m1", origin=["net"(1)], stage=3> (%f#1, %o, %f#0, %f#1) {call_counter = 4 : ui32, hint} (%u: !l, %v: !l, %w: !l, %z: !l) {
    %c = stablehlo.clamp %u, %v, %w : !l
    mpmd.return %c : !l
  } : (!m1, !m1, !m1, !m1) -> !m1
  return %f#0, %b : !m1, !m1
}

// Other ops and fragments of other meshes do not separate the two.
// CHECK-LABEL: func @leaves_neighbours_on_the_mesh_alone
func.func @leaves_neighbours_on_the_mesh_alone(%x: !m1, %y: !m2) -> (!m1, !m2) attributes {topology = #topology} {
  // CHECK-NOT: remat
  // CHECK: return
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %t = mpmd.transfer %f : (!m1) -> !m2
  %o = mpmd.fragment<mesh="m2", origin=["o"]> (%t) (%u: !l) {
    mpmd.return %u : !l
  } : (!m2) -> !m2
  %b = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%f) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %b, %o : !m1, !m2
}

// CHECK-LABEL: func @leaves_alone_what_does_not_belong_together
func.func @leaves_alone_what_does_not_belong_together(%x: !m1) -> (!m1, !m1, !m1, !m1, !m1, !m2) attributes {topology = #topology} {
  // CHECK-NOT: remat
  // CHECK: return
  %f = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %other_counter = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%f) {call_counter = 1 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %no_stage = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%f) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %no_counter = mpmd.fragment<mesh="m1", origin=["g"(1)]> (%g) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %second_order = mpmd.fragment<mesh="m1", origin=["f"(2)], stage=1> (%f) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %inferred = mpmd.fragment<mesh="m1", origin=[]> (%f) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %t = mpmd.transfer %f : (!m1) -> !m2
  %over_transfer = mpmd.fragment<mesh="m2", origin=["f"(1)], stage=1> (%t) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m2) -> !m2
  return %other_counter, %no_stage, %no_counter, %second_order, %inferred, %over_transfer : !m1, !m1, !m1, !m1, !m1, !m2
}

// The clone of %f separates %g from %b, which was next to it. Merged, there is
// no clone, and %b is no backward fragment any more.
// CHECK-LABEL: func @judges_neighbours_as_clones_appear
// MERGED-LABEL: func @judges_neighbours_as_clones_appear
func.func @judges_neighbours_as_clones_appear(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK:      origin=["f"]
  // CHECK:      origin=["g"]
  // CHECK:      %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]> {{.*}}remat
  // CHECK:      %[[G:.*]] = mpmd.fragment<mesh="m1", origin=["g"]> {{.*}}remat
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"(1)]> (%[[F]], %[[G]])
  // MERGED:     origin=["f"]
  // MERGED:     %[[G:.*]] = mpmd.fragment<mesh="m1", origin=["g"]>
  // MERGED-NOT: origin=["g"]
  // MERGED:     mpmd.fragment<mesh="m1", origin=["f", "f"(1)]> (%{{.*}}, %[[G]]) {call_counter = 0 : ui32, remat}
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %b = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%f, %g) {call_counter = 0 : ui32} (%u: !l, %v: !l) {
    %s = stablehlo.add %u, %v : !l
    mpmd.return %s : !l
  } : (!m1, !m1) -> !m1
  return %b : !m1
}

// CHECK-LABEL: func @clones_once_per_backward_fragment
func.func @clones_once_per_backward_fragment(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK:      %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["a"(1)]> (%[[F]])
  // CHECK:      %[[R:.*]] = mpmd.fragment<mesh="m1", origin=["f"]> {{.*}}remat
  // CHECK:      mpmd.fragment<mesh="m1", origin=["b"(1)]> (%[[R]])
  // CHECK:      %[[S:.*]] = mpmd.fragment<mesh="m1", origin=["f"]> {{.*}}remat
  // CHECK:      mpmd.fragment<mesh="m1", origin=["c"(1)]> (%[[S]])
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %a = mpmd.fragment<mesh="m1", origin=["a"(1)]> (%f) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %b = mpmd.fragment<mesh="m1", origin=["b"(1)]> (%f) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %c = mpmd.fragment<mesh="m1", origin=["c"(1)]> (%f) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %b, %c : !m1, !m1
}

// CHECK-LABEL: func @leaves_functions_without_fragments_alone
func.func @leaves_functions_without_fragments_alone(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  // CHECK-NEXT: return %arg0
  return %x : tensor<4xf32>
}

// Host functions and declarations have nothing to recompute.
// CHECK-LABEL: func private @leaves_declarations_alone
// CHECK-SAME:    attributes {topology = #mpmd.topology<{{[^{}]*}}>}{{$}}
func.func private @leaves_declarations_alone(!m1) -> !m1 attributes {topology = #topology}

// The first forward fragment is recomputed from its own operand; the second,
// from a result of the first that is not recomputed for it.
// CHECK-LABEL: func @clones_read_what_the_originals_read
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @clones_read_what_the_originals_read(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK:      %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"], stage=1> (%[[F]])
  // CHECK:      mpmd.fragment<mesh="m1", origin=["o"]>
  // CHECK:      %[[G:.*]] = mpmd.fragment<mesh="m1", origin=["g"], stage=1> (%[[F]]) {call_counter = 0 : ui32, remat}
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%[[G]])
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"], stage=1> (%f) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %o = mpmd.fragment<mesh="m1", origin=["o"]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %b = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%g) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %b : !m1
}

// A forward fragment that nothing reads any more stays, for the other passes to
// remove.
// CHECK-LABEL: func @keeps_the_unused_original
func.func @keeps_the_unused_original(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]> (%{{.*}}) {call_counter = 0 : ui32} (
  // CHECK:      mpmd.fragment<mesh="m1", origin=[]>
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]> (%{{.*}}) {call_counter = 0 : ui32, remat} (
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %o = mpmd.fragment<mesh="m1", origin=[]> (%x) (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  %b = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%f) {call_counter = 0 : ui32} (%u: !l) {
    mpmd.return %u : !l
  } : (!m1) -> !m1
  return %b : !m1
}
