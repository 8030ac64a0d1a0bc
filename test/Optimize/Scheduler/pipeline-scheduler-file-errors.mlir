// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=file:%S/Inputs/two-meshes.csv -verify-diagnostics -split-input-file

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// expected-error@+1 {{two-meshes.csv has 2 rows, but the pipeline has 1 meshes; expected a row for each}}
func.func @reports_a_number_of_rows_that_does_not_fit(%x: !m0) -> !m0 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0 : !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m0/cpu": <["x"=2]>>, <"m1": <["x"=2]>>>

// expected-error@+1 {{two-meshes.csv has 2 microbatches, but the program 3; expected as many}}
func.func @reports_a_number_of_microbatches_that_does_not_fit(%x: !m0) -> !m0 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0 : !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

func.func @reports_a_stage_in_another_row(%x: !m0) -> !m0 attributes {topology = #topology} {
  // expected-error@+1 {{expects on mesh "m1", not on "m0"}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=1> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0 : !m0
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

func.func @reports_the_largest_stage_there_is(%x: !m0) -> !m0 attributes {topology = #topology} {
  // expected-error@+1 {{is of stage 9223372036854775807 and microbatch}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=9223372036854775807> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0 : !m0
}
