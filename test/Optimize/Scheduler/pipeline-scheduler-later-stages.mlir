// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=1F1B report-unmet=true" -verify-diagnostics

// Values go through stage 1 first: then no order of 1F1B is possible, and a note says
// which stage is numbered wrongly.

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>

func.func @reads_a_later_stage(%x: !m1) -> (!m1, !m1) attributes {
    topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m1", origin=["g"], stage=1> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m0
  // expected-note@+1 {{stage 0 reads what stage 1, a later one, gives; number stages in the order in which values go through them}}
  %2 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%1) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-note@+1 {{this is the other fragment}}
  %3 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%2) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %4 = mpmd.transfer %3 : (!m0) -> !m1
  %5 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%4) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %6 = mpmd.fragment<mesh="m1", origin=["g"], stage=1> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %7 = mpmd.transfer %6 : (!m1) -> !m0
  // expected-warning@+1 {{forward of stage 0 of microbatch 1 runs before another fragment by schedule 1F1B, but needs its results}}
  %8 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%7) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %9 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%8) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %10 = mpmd.transfer %9 : (!m0) -> !m1
  %11 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%10) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %5, %11 : !m1, !m1
}
