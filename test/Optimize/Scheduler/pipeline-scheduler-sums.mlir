// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=CircularWithReversedBackward report-unmet=true" -verify-diagnostics
// RUN: sed -e 's/CircularWithReversedBackward/LoopedBFS/' %s > %t.mlir
// RUN: mpmd-opt %t.mlir -mpmd-pipeline-scheduler=must-happen-before=LoopedBFS -verify-diagnostics
// RUN: sed -e 's/CircularWithReversedBackward/1F1B/' -e 's/counter = 1 :/counter = 9 :/' -e 's/counter = 0 :/counter = 1 :/' -e 's/counter = 9 :/counter = 0 :/' -e 's/microbatch 1 runs/microbatch 0 runs/' -e 's/microbatch 0)/microbatch 1)/' -e 's/from the first microbatch to the last: sum from the last to the first, as the schedule runs them/from the last microbatch to the first, as jax.grad around all calls does: take the gradient inside of each call, and sum from the first to the last/' %s > %t.mlir
// RUN: mpmd-opt %t.mlir "-mpmd-pipeline-scheduler=must-happen-before=1F1B report-unmet=true" -verify-diagnostics
// Under GPipe nothing is lost by the other order.
// RUN: sed -e '/expected/d' %t.mlir > %t.gpipe.mlir
// RUN: mpmd-opt %t.gpipe.mlir "-mpmd-pipeline-scheduler=must-happen-before=GPipe report-unmet=true" -verify-diagnostics

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// Summed one way, run the other way: the message names the sum and both ways out.
func.func @names_the_sum_of_the_gradients(%x: !m0) -> !m0 attributes {topology = #topology} {
  // expected-note@+1 {{this is the other fragment; microbatches may depend on each other by what was merged into them before scheduling (backward of stage 0 of microbatch 0)}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-warning@+1 {{backward of stage 0 of microbatch 1 runs before another fragment by schedule CircularWithReversedBackward, but needs its results; data flow wins; here it is likely the sum of the gradients, which the program takes from the first microbatch to the last: sum from the last to the first, as the schedule runs them, or keep the sum apart until the fragments are scheduled (option mpmd_merge_inferred_after_scheduling)}}
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%0) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %1 : !m0
}
