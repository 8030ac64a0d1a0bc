// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=ZeroBubbleV -verify-diagnostics -split-input-file

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// expected-error@+1 {{schedule ZeroBubbleV needs 2 stages on each mesh, got 1}}
func.func @reports_a_number_of_stages_that_does_not_fit(%x: !m0) -> !m0 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0 : !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

func.func @reports_a_stage_on_another_mesh(%x: !m0, %y: !m1) -> (!m0, !m0, !m1, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-error@+1 {{is of stage 2, which schedule ZeroBubbleV expects on mesh "m1", not on "m0"; assign the stage to that mesh, or take another schedule}}
  %1 = mpmd.fragment<mesh="m0", origin=["f"], stage=2> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%y) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["f"], stage=3> (%y) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %0, %1, %2, %3 : !m0, !m0, !m1, !m1
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

func.func @reports_an_unknown_stage(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=1> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-error@+1 {{is of stage 7 and microbatch 0, for which schedule ZeroBubbleV has no place; number stages and calls from 0, or take another schedule}}
  %1 = mpmd.fragment<mesh="m0", origin=["f"], stage=7> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

func.func @reports_stages_on_some_fragments_only(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  // expected-note@+1 {{this one has a stage}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=1> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-error@+1 {{has no stage, but other fragments do; schedule ZeroBubbleV needs a stage on all or none}}
  %1 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// expected-error@+1 {{schedule ZeroBubbleV fills bubbles with the gradients of weights, but no backward fragment is split; split them (mpmd-split-bwd-fragments, option mpmd_split_bwd_fragments) or take a schedule that does without}}
func.func @reports_backward_work_that_is_not_split(%x: !m1) -> (!m1, !m0, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=2> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %1:2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%0) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a, %a : !l, !l
  } : (!m1) -> (!m1, !m1)
  %2 = mpmd.transfer %1#0 : (!m1) -> !m0
  return %0, %2, %1#1 : !m1, !m0, !m1
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// Stage 3 trains nothing, and sends the gradient of its input; stage 1 computes
// gradients of its weights only, since stage 0 trains nothing.
func.func @has_nothing_to_split(%x: !m0) -> (!m1, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=3> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.transfer %0 : (!m0) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=2> (%1) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%2) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %2, %3 : !m1, !m1
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// The first stage sends no gradient, and stage 2 sends it to its own mesh: they
// need not be split.
func.func @warns_of_a_stage_that_is_not_split(%x: !m0, %y: !m1) -> (!m0, !m0, !m1, !m1, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=3> (%x) {call_counter = 0 : ui32, split_keep_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=3> (%x) {call_counter = 0 : ui32, split_drop_transferred} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=2> (%y) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  // expected-warning@+1 {{is not split, so schedule ZeroBubbleV cannot fill bubbles with the gradients of weights of stage 1}}
  %3:2 = mpmd.fragment<mesh="m1", origin=["f"(1)], stage=1> (%2) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a, %a : !l, !l
  } : (!m1) -> (!m1, !m1)
  %sent = mpmd.transfer %3#0 : (!m1) -> !m0
  %4 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1, %2, %3#1, %4, %sent : !m0, !m0, !m1, !m1, !m0, !m0
}
