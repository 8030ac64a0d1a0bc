// RUN: mpmd-opt %s -mpmd-verify-stage-merging -verify-diagnostics -split-input-file

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @missing_counter_clashes_with_any(%x: !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%x) (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  // expected-error@+1 {{[mesh=m1, stage_id=0, transpose_count=0, call_count=6, split_type=nullopt, is_remat=0] of [#mpmd.user_origin<"k">]}}
  %1 = mpmd.fragment<mesh="m1", origin=["k"], stage=0> (%x) {call_counter = 6 : ui32} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  return
}

// -----

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @reports_each_fragment_that_clashes(%x: !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=2> (%x) {call_counter = 1 : ui32, split_keep_transferred, split_drop_transferred, remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  // expected-error@+1 {{must be unique in mesh, stage, transpose count, call counter, split type and remat; an earlier fragment clashes with [mesh=m1, stage_id=2, transpose_count=1, call_count=-1, split_type=kKeepTransferred, is_remat=1] of [#mpmd.user_origin<"f"(1)>, #mpmd.user_origin<"g"(1)>]}}
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1), "g"(1)], stage=2> (%x) {split_keep_transferred, remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  // The reported fragment is not recorded, so this one is fine.
  %2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=2> (%x) {call_counter = 2 : ui32, split_keep_transferred, remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  // expected-error@+1 {{call_count=2, split_type=kKeepTransferred}}
  %3 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=2> (%x) {call_counter = 2 : ui32, split_keep_transferred, remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  return
}

// -----

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @reports_two_fragments_without_counter(%x: !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"], stage=-1> (%x) {split_drop_transferred} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  // expected-error@+1 {{stage_id=-1, transpose_count=0, call_count=-1, split_type=kDropTransferred, is_remat=0}}
  %1 = mpmd.fragment<mesh="m1", origin=["f"], stage=-1> (%x) {split_drop_transferred} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  return
}

// -----

!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @reports_stage_without_single_transpose_count(%x: !m1) attributes {topology = #topology} {
  // expected-error@+1 {{fragment of stage 3 has no single transpose count, its origin is []}}
  %0 = mpmd.fragment<mesh="m1", origin=[], stage=3> (%x) (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  // expected-error@+1 {{fragment of stage 4 has no single transpose count}}
  %1 = mpmd.fragment<mesh="m1", origin=["f", "f"(1)], stage=4> (%x) (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  return
}

// -----

// As rematerialization leaves a backward fragment that was split.
!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @reports_recomputing_for_both_halves(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 0 : ui32, remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%0) {call_counter = 0 : ui32, split_keep_transferred} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  // expected-error@+1 {{stage_id=1, transpose_count=0, call_count=0, split_type=nullopt, is_remat=1] of [#mpmd.user_origin<"f">]; it would be recomputed for each half of its backward fragment, which is split: leave out mpmd_fragment_remat, or take a schedule that does not split backwards, such as 1F1B, without mpmd_split_bwd_fragments}}
  %2 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 0 : ui32, remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%2) {call_counter = 0 : ui32, split_drop_transferred} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  return %1, %3 : !m1, !m1
}

// -----

// As mpmd_merge_remat_fragments leaves it.
!l = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func @reports_recomputing_that_is_merged_with_both_halves(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f", "f"(1)], stage=1> (%x) {call_counter = 0 : ui32, remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  // expected-error@+1 {{stage_id=1, transpose_count=1, call_count=0, split_type=nullopt, is_remat=1] of [#mpmd.user_origin<"f">, #mpmd.user_origin<"f"(1)>]; it would be recomputed for each half of its backward fragment, which is split: leave out mpmd_fragment_remat, or take a schedule that does not split backwards, such as 1F1B, without mpmd_split_bwd_fragments}}
  %1 = mpmd.fragment<mesh="m1", origin=["f", "f"(1)], stage=1> (%x) {call_counter = 0 : ui32, remat} (%u: !l) { mpmd.return %u : !l } : (!m1) -> !m1
  return %0, %1 : !m1, !m1
}
