// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations=memory=9223372036854775807 | FileCheck %s --check-prefix=ARGUMENTS
// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations=memory=4611686018427387904 | FileCheck %s --check-prefix=TEMPORARIES
// RUN: mpmd-opt %s -split-input-file -mpmd-hoist-invariant-computations=limit=2305843009213693952 | FileCheck %s --check-prefix=LIMIT

// More bytes than can be counted are as many as can be.

!s = tensor<8xf32>
!l = tensor<1073741824x1073741824xf64>
!w = !mpmd.mesh_tensor<"m", !s>
!h = !mpmd.mesh_tensor<"m", !l>

// The arguments leave no place for the sine.
// ARGUMENTS-LABEL: func @huge_arguments
// ARGUMENTS-NOT: hoisted
// ARGUMENTS-LABEL: func @huge_temporaries
func.func @huge_arguments(%w: !w, %x: !w, %a: !h, %b: !h, %c: !h, %d: !h, %e: !h) -> (!w, !w) attributes {topology = #mpmd.topology<<"m": <["x"=4]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %x) (%p: !s, %q: !s) {
    %1 = stablehlo.sine %p : !s
    %2 = stablehlo.add %1, %q : !s
    mpmd.return %2 : !s
  } : (!w, !w) -> !w
  %3 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %0) (%p: !s, %q: !s) {
    %1 = stablehlo.sine %p : !s
    %2 = stablehlo.add %1, %q : !s
    mpmd.return %2 : !s
  } : (!w, !w) -> !w
  return %0, %3 : !w, !w
}

// -----

!s = tensor<8xf32>
!l = tensor<1073741824x1073741824xf64>
!w = !mpmd.mesh_tensor<"m", !s>

// Nor does what a body keeps.
// TEMPORARIES-LABEL: func @huge_temporaries
// TEMPORARIES-NOT: hoisted
// TEMPORARIES-LABEL: func @huge_savings
func.func @huge_temporaries(%w: !w, %x: !w, %y: !mpmd.mesh_tensor<"m", tensor<1xf64>>) -> (!w, !w) attributes {topology = #mpmd.topology<<"m": <["x"=4]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %x, %y) (%p: !s, %q: !s, %r: tensor<1xf64>) {
    %s = stablehlo.sine %p : !s
    %a = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<1xf64>) -> !l
    %b = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (!l, !l) -> !l
    %c = stablehlo.dot_general %b, %a, contracting_dims = [0] x [0] : (!l, !l) -> !l
    %d = stablehlo.dot_general %c, %a, contracting_dims = [0] x [0] : (!l, !l) -> !l
    %e = stablehlo.dot_general %d, %a, contracting_dims = [0] x [0] : (!l, !l) -> !l
    %f = stablehlo.dot_general %e, %a, contracting_dims = [0] x [0] : (!l, !l) -> !l
    %k = stablehlo.custom_call @opaque(%b, %c, %d, %e, %f) : (!l, !l, !l, !l, !l) -> !s
    %g = stablehlo.add %k, %s : !s
    mpmd.return %g : !s
  } : (!w, !w, !mpmd.mesh_tensor<"m", tensor<1xf64>>) -> !w
  %3 = mpmd.fragment<mesh="m", origin=["g"]> (%w, %0) (%p: !s, %q: !s) {
    %1 = stablehlo.sine %p : !s
    %2 = stablehlo.add %1, %q : !s
    mpmd.return %2 : !s
  } : (!w, !w) -> !w
  return %0, %3 : !w, !w
}

// -----

!s = tensor<8xf32>
!l = tensor<1073741824x1073741824xf64>
!w = !mpmd.mesh_tensor<"m", !s>
!h = !mpmd.mesh_tensor<"m", !l>

// What saves the most takes all of the limit.
// LIMIT-LABEL: func @huge_savings
// LIMIT: origin=["hoisted"]> (%arg1) (%[[A:.*]]: tensor<1073741824x1073741824xf64>)
// LIMIT-NEXT: %[[SINE:.*]] = stablehlo.sine %[[A]]
// LIMIT-NEXT: mpmd.return %[[SINE]]
// LIMIT-NOT: hoisted
func.func @huge_savings(%w: !w, %h: !h) -> (!w, !w, !w, !w, !w) attributes {topology = #mpmd.topology<<"m": <["x"=4]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %h) (%p: !s, %q: !l) {
    %c = stablehlo.cosine %p : !s
    %s = stablehlo.sine %q : !l
    %k = stablehlo.custom_call @opaque0(%c, %s) : (!s, !l) -> !s
    mpmd.return %k : !s
  } : (!w, !h) -> !w
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %h) (%p: !s, %q: !l) {
    %c = stablehlo.cosine %p : !s
    %s = stablehlo.sine %q : !l
    %k = stablehlo.custom_call @opaque1(%c, %s) : (!s, !l) -> !s
    mpmd.return %k : !s
  } : (!w, !h) -> !w
  %2 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %h) (%p: !s, %q: !l) {
    %c = stablehlo.cosine %p : !s
    %s = stablehlo.sine %q : !l
    %k = stablehlo.custom_call @opaque2(%c, %s) : (!s, !l) -> !s
    mpmd.return %k : !s
  } : (!w, !h) -> !w
  %3 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %h) (%p: !s, %q: !l) {
    %c = stablehlo.cosine %p : !s
    %s = stablehlo.sine %q : !l
    %k = stablehlo.custom_call @opaque3(%c, %s) : (!s, !l) -> !s
    mpmd.return %k : !s
  } : (!w, !h) -> !w
  %4 = mpmd.fragment<mesh="m", origin=["f"]> (%w, %h) (%p: !s, %q: !l) {
    %c = stablehlo.cosine %p : !s
    %s = stablehlo.sine %q : !l
    %k = stablehlo.custom_call @opaque4(%c, %s) : (!s, !l) -> !s
    mpmd.return %k : !s
  } : (!w, !h) -> !w
  return %0, %1, %2, %3, %4 : !w, !w, !w, !w, !w
}
