// RUN: mpmd-opt %s -split-input-file -verify-diagnostics -mpmd-rule-based-merge='rules=FragmentMergeRule(sources=[FragmentInfo(origins=["u"],mesh_name="m1"),FragmentInfo(origins=["u"],stage=1,mesh_name="m1"),FragmentInfo(origins=["u"],stage=2,mesh_name="m1")],target=FragmentInfo(origins=["u"],call_counter=0,mesh_name="m1"))'

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
// expected-error@+1 {{Cycle of dependencies, not all fragments could be properly merged: merge rules make this cycle}}
func.func @reports_cycle_over_another_mesh(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.transfer %1 : (!m2) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["u"]> (%2) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  return %3 : !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @reports_two_stages_in_one_merge(%x: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // expected-note@+1 {{the other fragment is here}}
  %0 = mpmd.fragment<mesh="m1", origin=["u"], stage=1> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  // expected-error@+1 {{fragment of stage 2 cannot be merged with one of stage 1}}
  %2 = mpmd.fragment<mesh="m1", origin=["u"], stage=2> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1, %2 : !m1, !m1, !m1
}
