// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=GPipe report-unmet=true" -verify-diagnostics

// What contradicts the schedule within one microbatch is reported separately from what
// does so between microbatches.

!l = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

func.func @in_a_microbatch_and_between(%x: !m) -> (!m, !m) attributes {
    topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>} {
  // expected-note@+1 {{this is the other fragment}}
  %0 = mpmd.fragment<mesh="m", origin=["f"(1)], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  // expected-warning@+1 {{forward of stage 0 of microbatch 0 runs before another fragment by schedule GPipe, the default, but needs its results; data flow wins}}
  %1 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%0) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["f"(1)], stage=0> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  // expected-warning@+1 {{forward of stage 0 of microbatch 3 runs before another fragment by schedule GPipe, the default, but needs its results; data flow wins, here and in 1 other pair}}
  %3 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%2) {call_counter = 3 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  return %1, %3 : !m, !m
}
