// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=Seq1F1B:2 -verify-diagnostics -split-input-file

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// By way of what is inferred, too.
func.func @reports_a_forward_that_looks_ahead(%x: !m0) -> !m0 attributes {topology = #topology} {
  // expected-error@+1 {{the model looks ahead in the sequence: the forward of chunk 0 of microbatch 1 in stage 0 reads this value of type 'tensor<4xf32>' of chunk 1; schedule Seq1F1B:2 needs a causal model, in which a chunk reads only those before it: take a schedule without chunks of a sequence, or do not read it}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 3 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=[]> (%0) (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-note@+1 {{it is read here}}
  %2 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%1) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %2 : !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

func.func @reports_a_backward_that_looks_back(%x: !m0) -> !m0 attributes {topology = #topology} {
  // expected-error@+1 {{the backward of chunk 1 of microbatch 0 in stage 0 reads this value}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-note@+1 {{it is read here}}
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%0) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %1 : !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// expected-error@+1 {{schedule Seq1F1B has 2 chunks of each microbatch, but there are 1 units, which is not a multiple; call each chunk, with the counter microbatch * 2 + chunk}}
func.func @reports_half_of_a_microbatch(%x: !m0) -> !m0 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0 : !m0
}
