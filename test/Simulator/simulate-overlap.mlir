// A pair is one run, shorter than its parts; without overlap they are two runs again.

// RUN: meshwright simulate %s --device h100 --json --items > %t.json
// RUN: FileCheck %s --check-prefix=PAIR --input-file %t.json
// RUN: meshwright simulate %s --device h100 --overlap none --json --items > %t.none.json
// RUN: FileCheck %s --check-prefix=PARTS --input-file %t.none.json
// RUN: meshwright draw %t.json -o %t.svg
// RUN: FileCheck %s --check-prefix=SVG --input-file %t.svg
// RUN: not meshwright simulate %s --device h100 --overlap all 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// PAIR:      "items": [
// PAIR:      "kind": "overlapped",
// PAIR-NEXT: "name": "p0_f_fwd_with_g_bwd",
// PAIR-NEXT: "microbatch": 0,

// PARTS:     "items": [
// PARTS:     "kind": "forward",
// PARTS:     "kind": "backward",
// PARTS-NOT: "kind": "overlapped"

// SVG: overlapped

// UNKNOWN: Cannot find option named 'all'

!l = tensor<4096x4096xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4096x4096xf32>, sharding=<@mesh, [{}, {"x"}]>>
!w = !mpmd.mesh_tensor<"m", tensor<4096x4096xf32>, sharding=<@mesh, [{"x"}, {}]>>
!r = !mpmd.mesh_tensor<"m", tensor<4096x4096xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

sdy.mesh @mesh = <["x"=2]>

func.func @main(%x: !m, %w: !w) -> (!r, !r) attributes {topology = #topology} {
  %0:2 = mpmd.fragment_call<mesh="m", origin=["f", "g"(1)]> @p0_f_fwd_with_g_bwd(%x, %w) {mpmd.overlapped = [{origin = [#mpmd.user_origin<"f">], results = 1 : i64}, {origin = [#mpmd.user_origin<"g"(1)>], results = 1 : i64}]} : (!m, !w) -> (!r, !r)
  return %0#0, %0#1 : !r, !r
}

func.func @p0_f_fwd_with_g_bwd(%a: !l {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: !l {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (!l, !l) attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (!l, !l) -> !l
  return %0, %1 : !l, !l
}
