// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=1F1B report-unmet=true microbatch-passes=0-1,2-3" -verify-diagnostics
// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=1F1B report-unmet=true" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=1F1B microbatch-passes=0-1,3-2" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG -DGIVEN="0-1,3-2"
// RUN: not mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=1F1B microbatch-passes=0-1," -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG -DGIVEN="0-1,"
// RUN: not mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=1F1B microbatch-passes=0-1,,2-3" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG -DGIVEN="0-1,,2-3"
// RUN: not mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=1F1B microbatch-passes=0-1;2-3" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG -DGIVEN="0-1;2-3"
// RUN: not mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=1F1B microbatch-passes=-1-1" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG -DGIVEN="-1-1"

// One pass over microbatches waits for another, which is no contradiction; what
// contradicts the schedule within it is reported all the same.

// NONE:      warning: forward of stage 0 of microbatch 2 {{.*}}, here and in 1 other pair
// NONE-NOT:  warning: {{.*}} microbatch 2
// NONE:      warning: forward of stage 0 of microbatch 0 {{.*}}, here and in 2 other pairs
// WRONG:     error: microbatch passes: expected the first and last call counter of each pass, as in 0-7,8-15, but got [[GIVEN]]{{$}}

!l = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

func.func @two_passes(%x: !m) -> !m attributes {
    topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"(1)], stage=0> (%0) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["f"(1)], stage=0> (%2, %1) {call_counter = 1 : ui32} (%a: !l, %b: !l) {
    mpmd.return %a : !l
  } : (!m, !m) -> !m
  %4 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%3) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %5 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%x) {call_counter = 3 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  // expected-note@+1 {{this is the other fragment}}
  %6 = mpmd.fragment<mesh="m", origin=["f"(1)], stage=0> (%5) {call_counter = 3 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  // expected-warning@+1 {{backward of stage 0 of microbatch 2 runs before another fragment by schedule 1F1B, but needs its results; data flow wins; here it is likely the sum of the gradients}}
  %7 = mpmd.fragment<mesh="m", origin=["f"(1)], stage=0> (%4, %6) {call_counter = 2 : ui32} (%a: !l, %b: !l) {
    mpmd.return %a : !l
  } : (!m, !m) -> !m
  return %7 : !m
}

// Numbers do not say which comes first.
func.func @an_evaluation_before(%x: !m) -> !m attributes {
    topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%x) {call_counter = 3 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["f"], stage=0> (%0, %1) {call_counter = 0 : ui32} (%a: !l, %b: !l) {
    mpmd.return %a : !l
  } : (!m, !m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["f"(1)], stage=0> (%2) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  return %3 : !m
}
