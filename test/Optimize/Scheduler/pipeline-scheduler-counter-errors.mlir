// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=LoopedBFS -verify-diagnostics
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=Eager1F1B -verify-diagnostics
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=InterleavedZeroBubble -verify-diagnostics
// RUN: sed '/expected-error/d' %s | mpmd-opt -mpmd-pipeline-scheduler=must-happen-before=1F1B | FileCheck %s
// RUN: sed '/expected-error/d' %s | mpmd-opt -mpmd-pipeline-scheduler=must-happen-before=Circular | FileCheck %s
// RUN: sed '/expected-error/d' %s | mpmd-opt -mpmd-pipeline-scheduler=must-happen-before=ZeroBubbleH2FullTxLatency | FileCheck %s
// RUN: sed '/expected-error/d' %s | mpmd-opt -mpmd-pipeline-scheduler=must-happen-before=ParallelPipelinesWithWrapAround

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// A list of all microbatches up to the counter would not fit any memory. What
// only compares pairs needs none.
// CHECK-LABEL: func @names_the_counter_that_is_too_large
func.func @names_the_counter_that_is_too_large(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  // CHECK: call_counter = 0
  // CHECK: call_counter = 4294967295
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-error@+1 {{has call counter 4294967295, so there are 4294967296 microbatches, but only 2 scheduling units; number the calls 0, 1, 2}}
  %1 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 4294967295 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}
