// Bare names other than these three need the prefix, and their own case.
// RUN: not mpmd-opt %s -mpmd-optimize-pipeline=pipeline-schedule=GPipe 2>&1 | FileCheck %s --check-prefix=BARE
// RUN: not mpmd-opt %s -mpmd-optimize-pipeline=pipeline-schedule=1f1b 2>&1 | FileCheck %s --check-prefix=CASE
// RUN: not mpmd-opt %s -mpmd-optimize-pipeline=pipeline-schedule=builtin:GPip 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: mpmd-opt %s -mpmd-optimize-pipeline -verify-diagnostics

// BARE:    unknown pipeline schedule 'GPipe', expected none, 1F1B, Circular, builtin:NAME or file:PATH; did you mean builtin:GPipe?
// CASE:    unknown pipeline schedule '1f1b', expected none, 1F1B, Circular, builtin:NAME or file:PATH; did you mean 1F1B?
// UNKNOWN: unknown pipeline schedule 'builtin:GPip', {{.*}}; did you mean GPipe?

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

func.func @reports_two_fragments_of_one_stage(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=1> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-error@+1 {{unique}}
  %1 = mpmd.fragment<mesh="m0", origin=["g"], stage=1> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}
