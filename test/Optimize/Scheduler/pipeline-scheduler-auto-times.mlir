// Schedule auto by recorded times, by those of a device, and by floating point
// work. Where the forward of the first stage is long, the second waits for it,
// and fills that time with the gradient of its weights.

// RUN: split-file %s %t
// RUN: mpmd-opt %t/program.mlir -mpmd-pipeline-scheduler=must-happen-before=auto \
// RUN:   | FileCheck %s --check-prefix=ALIKE
// RUN: mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto profile={\"%t/slow.json\"}" \
// RUN:   | FileCheck %s --check-prefix=SLOW
// RUN: mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-optimize-pipeline=pipeline-schedule=builtin:auto schedule-profile={\"%t/slow.json\"}" \
// RUN:   | FileCheck %s --check-prefix=SLOW

// What the first stage calls is long if its costs are given.
// RUN: mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto custom-costs={\"load=flops:900*n\"}" \
// RUN:   | FileCheck %s --check-prefix=SLOW
// RUN: mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto device=cpu custom-costs={\"load=flops:1e9*n\"}" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SLOW --implicit-check-not=warning

// On a device, each of these fragments takes a launch.
// RUN: mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto device=cpu" 2>%t/said \
// RUN:   | FileCheck %s --check-prefix=ALIKE
// RUN: FileCheck %s --check-prefix=UNKNOWN --input-file %t/said
// UNKNOWN: program.mlir:5:{{.*}} warning: the work of custom calls load is unknown; give it with mpmd_custom_costs, as NAME=flops:EXPRESSION

// RUN: mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto device=cpu profile={\"%t/part.json\"}" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PART
// PART: program.mlir:5:{{.*}} warning: mpmd_schedule_profile has no time of g on mesh m1; g(1) on mesh m1; what they take is estimated for cpu

// RUN: not mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto profile={\"%t/part.json\"}" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MISSING
// MISSING: program.mlir:5:{{.*}} error: mpmd_schedule_profile has no time of g on mesh m1; g(1) on mesh m1; record a run that has these fragments, or say with mpmd_schedule_device what they run on

// RUN: not mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto device=cpus" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: mpmd_schedule_device: unknown device "cpus", known are h100, {{.*}}did you mean "cpu"?

// RUN: not mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto profile={\"%t/none.json\"}" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NOFILE
// NOFILE: error: mpmd_schedule_profile: {{.*}}none.json

// RUN: not mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto profile={\"%t/newer.json\"}" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NEWER
// NEWER: error: mpmd_schedule_profile: {{.*}}newer.json: {{.*}}record again with this release

// RUN: not mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto custom-costs={\"load=flops:2*\"}" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=COST
// COST: error: mpmd_custom_costs: --cost 'load=flops:2*': flops: expected a number, the name of a dimension

// RUN: mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=1F1B device=cpu report-unmet=true" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNUSED
// UNUSED: warning: schedule 1F1B does not depend on times; mpmd_schedule_device and mpmd_schedule_profile are for schedule auto

// With memory for one microbatch, its backward ends before the next begins.
// RUN: mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto memory=1" \
// RUN:   | FileCheck %s --check-prefix=SLOW
// RUN: mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-optimize-pipeline=pipeline-schedule=builtin:auto schedule-memory={\"2, 1\"}" \
// RUN:   | FileCheck %s --check-prefix=SLOW
// RUN: not mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto memory={\"1,1,1\"}" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ROOMS
// ROOMS: program.mlir:5:{{.*}} error: mpmd_schedule_memory has 3 numbers, but the pipeline has 2 meshes; give one for each, or one for all
// RUN: not mpmd-opt %t/program.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto memory={\"1,0\"}" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ROOM
// ROOM: program.mlir:5:{{.*}} error: mpmd_schedule_memory: expected a whole number of 1 or more, got '0'

// Units on the host are no stages, and helpers may have any name.
// RUN: mpmd-opt %t/helper.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto device=cpu" \
// RUN:   | FileCheck %s --check-prefix=HELPER
// HELPER: func.func private @measured

// Transfers that take far longer than all work can still be added up.
// RUN: mpmd-opt %t/transfer.mlir \
// RUN:   "-mpmd-pipeline-scheduler=must-happen-before=auto profile={\"%t/far.json\"}" \
// RUN:   | FileCheck %s --check-prefix=FAR
// FAR: mpmd.transfer

// ALIKE:      mesh="m1", {{.*}}["g"]{{.*}}call_counter = 0
// ALIKE:      mesh="m1", {{.*}}["g"(1)]{{.*}}call_counter = 0 {{.*}}split_keep
// ALIKE:      mesh="m1", {{.*}}["g"]{{.*}}call_counter = 1
// ALIKE:      mesh="m1", {{.*}}["g"(1)]{{.*}}call_counter = 1 {{.*}}split_keep
// ALIKE:      mesh="m1", {{.*}}["g"(1)]{{.*}}call_counter = 0 {{.*}}split_drop
// ALIKE:      mesh="m1", {{.*}}["g"(1)]{{.*}}call_counter = 1 {{.*}}split_drop

// SLOW:      mesh="m1", {{.*}}["g"]{{.*}}call_counter = 0
// SLOW:      mesh="m1", {{.*}}["g"(1)]{{.*}}call_counter = 0 {{.*}}split_keep
// SLOW:      mesh="m1", {{.*}}["g"(1)]{{.*}}call_counter = 0 {{.*}}split_drop
// SLOW:      mesh="m1", {{.*}}["g"]{{.*}}call_counter = 1
// SLOW:      mesh="m1", {{.*}}["g"(1)]{{.*}}call_counter = 1 {{.*}}split_keep
// SLOW:      mesh="m1", {{.*}}["g"(1)]{{.*}}call_counter = 1 {{.*}}split_drop

//--- program.mlir
!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>
func.func @main(%x: !m0, %y: !m1) -> (!m0, !m0, !m0, !m0, !m1, !m1, !m1, !m1, !m1, !m1) attributes {topology = #topology} {
  %f0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    %0 = stablehlo.custom_call @load(%a) : (!l) -> !l
    mpmd.return %0 : !l
  } : (!m0) -> !m0
  %f1 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 1 : ui32} (%a: !l) {
    %0 = stablehlo.custom_call @load(%a) : (!l) -> !l
    mpmd.return %0 : !l
  } : (!m0) -> !m0
  %b0 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    %0 = stablehlo.add %a, %a : !l
    mpmd.return %0 : !l
  } : (!m0) -> !m0
  %b1 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%x) {call_counter = 1 : ui32} (%a: !l) {
    %0 = stablehlo.add %a, %a : !l
    mpmd.return %0 : !l
  } : (!m0) -> !m0
  %g0 = mpmd.fragment<mesh="m1", origin=["g"], stage=1> (%y) {call_counter = 0 : ui32} (%a: !l) {
    %0 = stablehlo.add %a, %a : !l
    mpmd.return %0 : !l
  } : (!m1) -> !m1
  %i0 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%y) {call_counter = 0 : ui32, split_keep_transferred} (%a: !l) {
    %0 = stablehlo.add %a, %a : !l
    mpmd.return %0 : !l
  } : (!m1) -> !m1
  %w0 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%y) {call_counter = 0 : ui32, split_drop_transferred} (%a: !l) {
    %0 = stablehlo.add %a, %a : !l
    mpmd.return %0 : !l
  } : (!m1) -> !m1
  %g1 = mpmd.fragment<mesh="m1", origin=["g"], stage=1> (%y) {call_counter = 1 : ui32} (%a: !l) {
    %0 = stablehlo.add %a, %a : !l
    mpmd.return %0 : !l
  } : (!m1) -> !m1
  %i1 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%y) {call_counter = 1 : ui32, split_keep_transferred} (%a: !l) {
    %0 = stablehlo.add %a, %a : !l
    mpmd.return %0 : !l
  } : (!m1) -> !m1
  %w1 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%y) {call_counter = 1 : ui32, split_drop_transferred} (%a: !l) {
    %0 = stablehlo.add %a, %a : !l
    mpmd.return %0 : !l
  } : (!m1) -> !m1
  return %f0, %f1, %b0, %b1, %g0, %i0, %w0, %g1, %i1, %w1 : !m0, !m0, !m0, !m0, !m1, !m1, !m1, !m1, !m1, !m1
}
//--- slow.json
{"format": "meshwright-profile", "version": 1, "transfers": [], "fragments": [
  {"name": "p0", "mesh": "m0", "origins": ["f"], "flops": 4, "calls": 2, "seconds": 0.009},
  {"name": "p1", "mesh": "m0", "origins": ["f(1)"], "flops": 4, "calls": 2, "seconds": 0.001},
  {"name": "p2", "mesh": "m1", "origins": ["g"], "flops": 4, "calls": 2, "seconds": 0.001},
  {"name": "p3", "mesh": "m1", "origins": ["g(1)"], "flops": 4, "calls": 2, "seconds": 0.001}]}
//--- part.json
{"format": "meshwright-profile", "version": 1, "transfers": [], "fragments": [
  {"name": "p0", "mesh": "m0", "origins": ["f"], "flops": 4, "calls": 2, "seconds": 0.009},
  {"name": "p1", "mesh": "m0", "origins": ["f(1)"], "flops": 4, "calls": 2, "seconds": 0.001}]}
//--- newer.json
{"format": "meshwright-profile", "version": 2, "transfers": [], "fragments": []}
//--- helper.mlir
!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!host = !mpmd.mesh_tensor<"m0/cpu", tensor<4xf32>>
func.func private @measured(%x: !l) -> !l {
  %0 = stablehlo.abs %x : !l
  return %0 : !l
}
func.func @main(%x: !m0, %y: !host) -> (!m0, !host) attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m0/cpu": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    %s = func.call @measured(%a) : (!l) -> !l
    mpmd.return %s : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0/cpu", origin=["f"], stage=1000000> (%y) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!host) -> !host
  return %0, %1 : !m0, !host
}
//--- transfer.mlir
!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @main(%x: !m0) -> !m1 attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %t = mpmd.transfer %0 : (!m0) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"], stage=1> (%t) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %1 : !m1
}
//--- far.json
{"format": "meshwright-profile", "version": 1, "fragments": [
  {"name": "p0", "mesh": "m0", "origins": ["f"], "calls": 1, "seconds": 1e-300},
  {"name": "p1", "mesh": "m1", "origins": ["g"], "calls": 1, "seconds": 1e-300}],
 "transfers": [{"name": "m0 -> m1", "bytes": 16, "calls": 1, "seconds": 9e-285}]}
