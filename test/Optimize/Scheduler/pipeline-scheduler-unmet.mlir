// RUN: mpmd-opt %s "-mpmd-pipeline-scheduler=must-happen-before=ZeroBubbleH1 report-unmet=true" -verify-diagnostics

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>
#two = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// expected-warning@+1 {{schedule ZeroBubbleH1 fills bubbles with the gradients of weights, but no backward fragment is split}}
func.func @warns_of_backward_work_that_is_not_split(%x: !m1) -> (!m0, !m1) attributes {topology = #two} {
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a, %a : !l, !l
  } : (!m1) -> (!m1, !m1)
  %1 = mpmd.transfer %0#0 : (!m1) -> !m0
  return %1, %0#1 : !m0, !m1
}

func.func @has_nothing_to_split(%x: !m0) -> !m0 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0 : !m0
}

func.func @warns_where_data_flow_contradicts(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  // expected-note@+1 {{this is the other fragment}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-warning@+1 {{runs before another fragment by schedule ZeroBubbleH1, but needs its results; data flow wins}}
  %1 = mpmd.fragment<mesh="m0", origin=["f"]> (%0) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32, split_drop_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %1, %2 : !m0, !m0
}
