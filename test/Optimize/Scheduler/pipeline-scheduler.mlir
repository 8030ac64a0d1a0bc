// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=GPipe | FileCheck %s --check-prefixes=CHECK,GPIPE
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=builtin:gpipe | FileCheck %s --check-prefixes=CHECK,GPIPE
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler | FileCheck %s --check-prefixes=CHECK,ALTERNATE
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=1f1b | FileCheck %s --check-prefixes=CHECK,ALTERNATE
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=none | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=Circular | FileCheck %s --check-prefixes=CHECK,CIRCULAR
// A relation is no plan: nothing is reported, whatever it meets.
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=ZeroBubbleH1 -verify-diagnostics

!l = tensor<4xf32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m0cpu = !mpmd.mesh_tensor<"m0/cpu", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>
#host = #mpmd.topology<<"m0": <["x"=2]>>, <"m0/cpu": <["x"=2]>>>
#two = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// CHECK-LABEL: func @orders_units_of_one_mesh
// GPIPE:       origin=["f"]> {{.*}}call_counter = 0
// GPIPE:       origin=["f"]> {{.*}}call_counter = 1
// GPIPE:       origin=["f"(1)]> {{.*}}call_counter = 0
// GPIPE:       origin=["f"(1)]> {{.*}}call_counter = 1
// ALTERNATE:   origin=["f"]> {{.*}}call_counter = 0
// ALTERNATE:   origin=["f"(1)]> {{.*}}call_counter = 0
// ALTERNATE:   origin=["f"]> {{.*}}call_counter = 1
// ALTERNATE:   origin=["f"(1)]> {{.*}}call_counter = 1
func.func @orders_units_of_one_mesh(%x: !m0) -> (!m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1, %2, %3 : !m0, !m0, !m0, !m0
}

// What waits ends up after everything that was ready before, also the log,
// which is no unit: it has no call counter.
// CHECK-LABEL:    func @waiting_units_are_overtaken_by_others
// ALTERNATE:      %[[LOG:.*]] = mpmd.fragment<mesh="m0", origin=["log"]>
// ALTERNATE:      %[[F0:.*]] = mpmd.fragment<mesh="m0", origin=["net"]> {{.*}}call_counter = 0
// ALTERNATE:      %[[B0:.*]] = mpmd.fragment<mesh="m0", origin=["net"(1)]>
// ALTERNATE:      %[[F1:.*]] = mpmd.fragment<mesh="m0", origin=["net"]> {{.*}}call_counter = 1
// ALTERNATE:      return %[[B0]], %[[F1]], %[[LOG]], %[[F0]]
func.func @waiting_units_are_overtaken_by_others(%p: !m0, %q: !m0) -> (!m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %b0 = mpmd.fragment<mesh="m0", origin=["net"(1)]> (%q) {call_counter = 0 : ui32} (%x: !l) {
    mpmd.return %x : !l
  } : (!m0) -> !m0
  %f1 = mpmd.fragment<mesh="m0", origin=["net"]> (%p) {call_counter = 1 : ui32} (%x: !l) {
    mpmd.return %x : !l
  } : (!m0) -> !m0
  %k = mpmd.fragment<mesh="m0", origin=["log"]> (%p) (%x: !l) {
    mpmd.return %x : !l
  } : (!m0) -> !m0
  %f0 = mpmd.fragment<mesh="m0", origin=["net"]> (%p) {call_counter = 0 : ui32} (%x: !l) {
    mpmd.return %x : !l
  } : (!m0) -> !m0
  return %b0, %f1, %k, %f0 : !m0, !m0, !m0, !m0
}

// A backward fragment that a forward one reads stays before it.
// CHECK-LABEL: func @data_flow_wins
// CHECK:       origin=["f"(1)]>
// CHECK:       origin=["f"]>
func.func @data_flow_wins(%x: !m0) -> !m0 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"]> (%0) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %1 : !m0
}

// Inferred fragments, those with two transpose counts, with a count of two, or
// without a counter, stay where they are.
// CHECK-LABEL: func @orders_scheduling_units_only
// CHECK:       origin=["second"(2)]>
// CHECK:       origin=["b"(1), "f"]>
// CHECK:       origin=[]>
// CHECK:       origin=["b"(1)]>
// CHECK:       origin=["f"]>
func.func @orders_scheduling_units_only(%x: !m0) -> (!m0, !m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["second"(2)]> (%x) {call_counter = 3 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["b"(1), "f"]> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=[]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["b"(1)]> (%x) (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %4 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1, %2, %3, %4 : !m0, !m0, !m0, !m0, !m0
}

// CHECK-LABEL: func @leaves_pairs_on_different_meshes_alone
// CHECK:       mesh="m0", origin=["f"(1)]>
// CHECK:       mesh="m1", origin=["f"]>
func.func @leaves_pairs_on_different_meshes_alone(%x: !m0, %y: !m1) -> (!m0, !m1) attributes {topology = #two} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%y) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m1) -> !m1
  return %0, %1 : !m0, !m1
}

// With m0 alone in the pipeline, 1F1B alternates; the mesh of the host does not
// count. A schedule that does not ask which mesh it is orders the host as well.
// CHECK-LABEL: func @meshes_of_the_host_do_not_count
// ALTERNATE:   mesh="m0", origin=["f"]> {{.*}}call_counter = 0
// ALTERNATE:   mesh="m0", origin=["f"(1)]> {{.*}}call_counter = 0
// GPIPE:       mesh="m0/cpu", origin=["f"]>
// GPIPE:       mesh="m0/cpu", origin=["f"(1)]>
func.func @meshes_of_the_host_do_not_count(%x: !m0, %y: !m0cpu) -> (!m0cpu, !m0cpu, !m0, !m0) attributes {topology = #host} {
  %0 = mpmd.fragment<mesh="m0/cpu", origin=["f"(1)]> (%y) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0cpu) -> !m0cpu
  %1 = mpmd.fragment<mesh="m0/cpu", origin=["f"]> (%y) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0cpu) -> !m0cpu
  %2 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1, %2, %3 : !m0cpu, !m0cpu, !m0, !m0
}

// The rows between different kinds are equalities: on mesh 0 of 2, F(2) goes
// before B(1), but nothing is said of F(3).
// CHECK-LABEL: func @unused_meshes_of_the_topology_count
// ALTERNATE:   origin=["f"]> {{.*}}call_counter = 2
// ALTERNATE:   origin=["f"(1)]> {{.*}}call_counter = 1
func.func @unused_meshes_of_the_topology_count(%x: !m0) -> (!m0, !m0) attributes {topology = #two} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 2 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}

// CHECK-LABEL: func @missing_counters_imply_nothing
// ALTERNATE:   origin=["f"(1)]> {{.*}}call_counter = 1
// ALTERNATE:   origin=["f"]> {{.*}}call_counter = 1
func.func @missing_counters_imply_nothing(%x: !m0) -> (!m0, !m0) attributes {topology = #two} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}

// CHECK-LABEL: func @circular_orders_fragments_with_stages
// CIRCULAR:    origin=["g"]> {{.*}}call_counter = 1
// CIRCULAR:    origin=["g"]> {{.*}}call_counter = 0
// CIRCULAR:    origin=["f"], stage=0> {{.*}}call_counter = 0
// CIRCULAR:    origin=["f"], stage=2> {{.*}}call_counter = 0
// CIRCULAR:    origin=["f"], stage=0> {{.*}}call_counter = 1
func.func @circular_orders_fragments_with_stages(%x: !m0) -> (!m0, !m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["g"]> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["g"]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 1 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"], stage=2> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %4 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1, %2, %3, %4 : !m0, !m0, !m0, !m0, !m0
}

// Operands, attributes and locations stay; no edge is left behind.
// CHECK-LABEL: func @changes_nothing_but_the_order
// CHECK-NOT:   control_operand_start_idx
// GPIPE:       %[[F:.*]] = mpmd.fragment<mesh="m0", origin=["f"]> (%arg0) {arg_attrs = [{kept}], call_counter = 0 : ui32, kept} (
// GPIPE:       mpmd.fragment<mesh="m0", origin=["f"(1)]> (%arg0) {call_counter = 0 : ui32} (
// NONE:        mpmd.fragment<mesh="m0", origin=["f"(1)]> (%arg0) {call_counter = 0 : ui32} (
// NONE:        mpmd.fragment<mesh="m0", origin=["f"]> (%arg0) {arg_attrs = [{kept}], call_counter = 0 : ui32, kept} (
func.func @changes_nothing_but_the_order(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {arg_attrs = [{kept}], call_counter = 0 : ui32, kept} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}

// CHECK-LABEL: func @leaves_functions_without_topology_alone
func.func @leaves_functions_without_topology_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func private @leaves_declarations_alone
// CHECK-SAME:    attributes {topology = #mpmd.topology<{{[^{}]*}}>}{{$}}
func.func private @leaves_declarations_alone(!m0) -> !m0 attributes {topology = #topology}

// CHECK-LABEL: func @operands_of_a_body_stay
// CHECK-NEXT:    mpmd.fragment<mesh="m0", origin=["f"]> (%{{.*}}) (%
func.func @operands_of_a_body_stay(%x: !m0) -> !m0 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {mpmd.control_operand_start_idx = 0 : i64} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0 : !m0
}

// CHECK-LABEL:   func @circular_counts_down_to_the_least_stage
// CIRCULAR:      origin=["f"(1)], stage=0>
// CIRCULAR:      origin=["f"(1)], stage=-9223372036854775808>
func.func @circular_counts_down_to_the_least_stage(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=-9223372036854775808> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%x) {call_counter = 0 : ui32} (%a: !l) {
    mpmd.return %a : !l
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}
