// RUN: mpmd-opt %s -split-input-file -verify-diagnostics -mpmd-rule-based-merge='rules=FragmentMergeRule(sources=[FragmentInfo(origins=["u"],mesh_name="m1")],target=FragmentInfo(origins=["u"],mesh_name="m7")),FragmentMergeRule(sources=[FragmentInfo(origins=["w"],mesh_name="m1")],target=FragmentInfo(origins=["w"]))'

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_target_on_an_unknown_mesh(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // expected-error@+1 {{a merge rule puts this fragment and others on mesh "m7", but their values are on mesh "m1"; name that in the target of the rule}}
  %0 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["u"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1 : !m1, !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_target_without_mesh(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // expected-error@+1 {{on mesh "", but their values are on mesh "m1"}}
  %0 = mpmd.fragment<mesh="m1", origin=["w"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["w"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1 : !m1, !m1
}
