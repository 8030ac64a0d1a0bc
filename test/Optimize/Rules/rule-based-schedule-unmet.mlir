// RUN: mpmd-opt %s '-mpmd-rule-based-schedule=report-unmet=true rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["encoder"],call_counter=1,mesh_name="m0")->FragmentInfo(origins=["encodr"],call_counter=0,mesh_name="m0")->FragmentInfo(origins=["encodr"],call_counter=0,mesh_name="m0")->FragmentInfo(origins=["encoder"],call_counter=0,mesh_name="m0")])' -verify-diagnostics -split-input-file

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// Once for each description.
// expected-warning@+1 {{no fragment fits the description FragmentInfo(origins=["encodr"],call_counter=0,mesh_name="m0") of a schedule rule}}
func.func @warns_of_rules_that_fit_nothing(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  // expected-note@+1 {{the nearest is FragmentInfo(origins=["encoder"],call_counter=0,mesh_name="m0")}}
  %0 = mpmd.fragment<mesh="m0", origin=["encoder"]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["encoder"]> (%x) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}

// -----

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// expected-warning@+1 {{no fragment fits the description}}
func.func @warns_of_rules_that_data_flow_contradicts(%x: !m0) -> !m0 attributes {topology = #topology} {
  // expected-note@below {{the nearest is}}
  // expected-note@+1 {{this is the other fragment}}
  %0 = mpmd.fragment<mesh="m0", origin=["encoder"]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  // expected-warning@+1 {{a schedule rule puts this before another fragment that it depends on, by its operands or by earlier rules; the rule is not followed there}}
  %1 = mpmd.fragment<mesh="m0", origin=["encoder"]> (%0) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %1 : !m0
}
