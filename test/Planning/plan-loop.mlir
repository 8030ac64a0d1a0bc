// Microbatches may be the iterations of a loop, as mw.pipeline.accumulate has them: what
// the loop passes on unchanged are parameters, and sums are none.
// RUN: meshwright plan %s --device cpu --devices 1 --json | FileCheck %s
// CHECK: "microbatches": 6,
// One weight of 64 by 64, its gradient and Adam's state, and the 7 by 64 numbers of a microbatch.
// CHECK: "peak_bytes": 67328,
!w = tensor<64x64xf32>
!x = tensor<7x64xf32>
func.func private @microbatch(%w: !w, %x: !x, %sum: !w) -> !w {
  %0:2 = mpmd.named_computation<"l"> (%w, %x) (%a: !w, %b: !x) {
    %2 = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0] : (!x, !w) -> !x
    mpmd.return %2, %b : !x, !x
  } : (!w, !x) -> (!x, !x)
  %1 = mpmd.named_computation<"l"(1)> (%0#1, %sum) (%b: !x, %s: !w) {
    %2 = stablehlo.dot_general %b, %b, contracting_dims = [0] x [0] : (!x, !x) -> !w
    %3 = stablehlo.add %s, %2 : !w
    mpmd.return %3 : !w
  } : (!x, !w) -> !w
  return %1 : !w
}
func.func @main(%w: !w, %x: !x, %sum: !w) -> !w {
  %0:3 = mpmd.for (%w, %x, %sum) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%a: !w, %b: !x, %s: !w, %i: tensor<ui32>) {
    %1:3 = mpmd.for (%a, %b, %s) {iterations = 3 : ui32, unroll_factor = 3 : ui32} (%c: !w, %d: !x, %t: !w, %j: tensor<ui32>) {
      %n = stablehlo.negate %d : !x
      %2 = mpmd.call @microbatch(%c, %n, %t) {call_counter = 0 : ui32} : (!w, !x, !w) -> !w
      mpmd.return %c, %n, %2 : !w, !x, !w
    } : !w, !x, !w
    mpmd.return %1#0, %1#1, %1#2 : !w, !x, !w
  } : !w, !x, !w
  return %0#2 : !w
}
