// The order that is kept verifies, and is printed and read back.
// RUN: mpmd-opt %s '-mpmd-pipeline-scheduler=must-happen-before=1f1b remove-control-dependencies=false' | FileCheck %s --check-prefixes=CHECK,KEPT
// RUN: mpmd-opt %s '-mpmd-rule-based-schedule=rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["f"],call_counter=0,mesh_name="m")->FragmentInfo(origins=["f"(1)],call_counter=0,mesh_name="m")->FragmentInfo(origins=["f"],call_counter=1,mesh_name="m")->FragmentInfo(origins=["f"(1)],call_counter=1,mesh_name="m")]) remove-control-dependencies=false' | FileCheck %s --check-prefixes=CHECK,RULE
// What was kept counts as data flow to another schedule, and goes if that keeps
// nothing.
// RUN: mpmd-opt %s '-mpmd-pipeline-scheduler=must-happen-before=1f1b remove-control-dependencies=false' -mpmd-pipeline-scheduler=must-happen-before=gpipe | FileCheck %s --check-prefixes=CHECK,GONE
// RUN: mpmd-opt %s '-mpmd-pipeline-scheduler=must-happen-before=1f1b remove-control-dependencies=false' -mpmd-rule-based-schedule | FileCheck %s --check-prefixes=CHECK,GONE
// RUN: mpmd-opt %s '-mpmd-pipeline-scheduler=must-happen-before=1f1b remove-control-dependencies=false' | mpmd-opt -mpmd-rule-based-merge | FileCheck %s --check-prefixes=CHECK,GONE
// RUN: mpmd-opt %s '-mpmd-pipeline-scheduler=must-happen-before=1f1b remove-control-dependencies=false' --emit-bytecode | mpmd-opt '-mpmd-rule-based-merge=remove-control-dependencies=false' | FileCheck %s --check-prefixes=CHECK,KEPT

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @main
// KEPT: origin=["f"]> (%arg0) {call_counter = 0 : ui32, mpmd.control_number = 0 : i64} (
// KEPT: origin=["f"(1)]> (%arg0) {call_counter = 0 : ui32, mpmd.control_after = array<i64: 0>, mpmd.control_number = 1 : i64} (
// KEPT: origin=["f"]> (%arg0) {call_counter = 1 : ui32, mpmd.control_after = array<i64: 0, 1>, mpmd.control_number = 2 : i64} (
// KEPT: origin=["f"(1)]> (%arg0) {call_counter = 1 : ui32, mpmd.control_after = array<i64: 2>} (
// RULE: origin=["f"]> (%arg0) {call_counter = 0 : ui32, mpmd.control_number = 0 : i64} (
// RULE: origin=["f"(1)]> (%arg0) {call_counter = 0 : ui32, mpmd.control_after = array<i64: 0>, mpmd.control_number = 1 : i64} (
// RULE: origin=["f"]> (%arg0) {call_counter = 1 : ui32, mpmd.control_after = array<i64: 1>, mpmd.control_number = 2 : i64} (
// RULE: origin=["f"(1)]> (%arg0) {call_counter = 1 : ui32, mpmd.control_after = array<i64: 2>} (
// GONE: origin=["f"]> (%arg0) {call_counter = 0 : ui32} (
// GONE: origin=["f"(1)]> (%arg0) {call_counter = 0 : ui32} (
// GONE: origin=["f"]> (%arg0) {call_counter = 1 : ui32} (
// GONE: origin=["f"(1)]> (%arg0) {call_counter = 1 : ui32} (
func.func @main(%x: !m) -> (!m, !m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  return %0, %1, %2, %3 : !m, !m, !m, !m
}
