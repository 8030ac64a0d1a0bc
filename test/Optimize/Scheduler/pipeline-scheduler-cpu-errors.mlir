// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=Circular -verify-diagnostics
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=CircularWithReversedBackward -verify-diagnostics
// RUN: sed 's/schedule Circular/schedule LoopedBFS/' %s > %t.mlir
// RUN: mpmd-opt %t.mlir -mpmd-pipeline-scheduler=must-happen-before=LoopedBFS -verify-diagnostics
// RUN: sed '/expected-error/d' %s | mpmd-opt -mpmd-pipeline-scheduler=must-happen-before=GPipe -verify-diagnostics
// RUN: sed '/expected-error/d' %s | mpmd-opt -mpmd-pipeline-scheduler=must-happen-before=none -verify-diagnostics
// RUN: sed '/expected-error/d' %s | mpmd-opt "-mpmd-pipeline-scheduler=must-happen-before=Circular only-restore=true" -verify-diagnostics

!l = tensor<4xf32>
!cpu = !mpmd.mesh_tensor<"a/cpu", tensor<4xf32>>
#topology = #mpmd.topology<<"a/cpu": <["x"=1]>>, <"b/cpu": <["x"=1]>>>

func.func @reports_a_pipeline_without_meshes(%x: !cpu) -> (!cpu, !cpu) attributes {topology = #topology} {
  // expected-error@+1 {{is on mesh "a/cpu", but schedule Circular}}
  %0 = mpmd.fragment<mesh="a/cpu", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!cpu) -> !cpu
  %1 = mpmd.fragment<mesh="a/cpu", origin=["f"], stage=0> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!cpu) -> !cpu
  return %0, %1 : !cpu, !cpu
}

// Without units there is nothing to order.
func.func @leaves_other_functions_alone(%x: !cpu) -> !cpu attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="a/cpu", origin=["f"]> (%x) (%a: !l) {
    mpmd.return %a : !l
  } : (!cpu) -> !cpu
  return %0 : !cpu
}
