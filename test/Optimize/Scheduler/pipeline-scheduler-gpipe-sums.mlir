// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=GPipe report-unmet=true" -split-input-file -verify-diagnostics

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// Both stages sum from the last microbatch to the first: the drawn order, mirrored.
func.func @all_stages_in_the_other_order(%x: !m0, %y: !m1) -> (!m0, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%y) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%1) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%0) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %4 = mpmd.transfer %3 : (!m1) -> !m0
  %5 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%2, %4) {call_counter = 0 : ui32} (%a: !l, %b: !l) {
    mpmd.return %a : !l
  } : (!m0, !m0) -> !m0
  return %5, %3 : !m0, !m1
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// One stage keeps the schedule's order: the other waits for all of its microbatches.
func.func @one_stage_in_the_other_order(%x: !m0, %y: !m1) -> (!m0, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%y) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m0
  %2 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%0) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %3 = mpmd.transfer %2 : (!m1) -> !m0
  // expected-note@+1 {{this is the other fragment; microbatches may depend on each other by what was merged into them before scheduling (backward of stage 0 of microbatch 1)}}
  %4 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%3) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-warning@+1 {{backward of stage 0 of microbatch 0 runs before another fragment by schedule GPipe, the default, but needs its results; data flow wins; here it is likely the sum of the gradients}}
  %5 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%4, %1) {call_counter = 0 : ui32} (%a: !l, %b: !l) {
    mpmd.return %a : !l
  } : (!m0, !m0) -> !m0
  return %5, %2 : !m0, !m1
}
