// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=auto -verify-diagnostics -split-input-file

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

func.func @reports_a_stage_on_two_meshes(%x: !m0, %y: !m1) -> (!m0, !m1) attributes {topology = #topology} {
  // expected-note@+1 {{this one is on mesh "m0"}}
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  // expected-error@+1 {{is of stage 0, which is on several meshes; schedule auto needs each stage on one}}
  %1 = mpmd.fragment<mesh="m1", origin=["f"], stage=0> (%y) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %0, %1 : !m0, !m1
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// expected-error@+1 {{has a unit of stage 9223372036854775807; schedule auto needs stages from 0, below 4194304}}
func.func @reports_a_stage_above_the_most(%x: !m0, %y: !m1) -> (!m0, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m1", origin=["f"], stage=9223372036854775807> (%y) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %0, %1 : !m0, !m1
}

// -----

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// expected-error@+1 {{has a unit of stage -1; schedule auto needs stages from 0, below 4194304}}
func.func @reports_a_stage_below_zero(%x: !m0, %y: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"], stage=-1> (%y) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}
