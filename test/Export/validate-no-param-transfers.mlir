// RUN: mpmd-opt %s -mpmd-validate-no-param-transfers -verify-diagnostics | FileCheck %s

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
!host = !mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="pinned_host">
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @warns_of_named_operand
// CHECK-NEXT:    mpmd.transfer
func.func @warns_of_named_operand(%w: !m1 loc("params['transformer/mlp']['b']")) -> !m2 attributes {topology = #topology} {
  // expected-warning@+1 {{cross-mesh transfer of a parameter (a name with "params['transformer"), from mesh "m1" to mesh "m2"; JAX locations: ["params['transformer/mlp']['b']"]}}
  %0 = mpmd.transfer %w : (!m1) -> !m2
  return %0 : !m2
}

// A named location is met by its name, whatever file it wraps. The memory kind
// counts as a mesh does.
func.func @warns_of_each_named_transfer(%w: !m1 loc("a params['transformer/1']"("params.py":1:2))) -> (!m2, !m2, !host) attributes {topology = #topology} {
  // expected-warning@unknown {{from mesh "m1" to mesh "m2"; JAX locations: ["a params['transformer/1']", "params['transformer/2']"]}}
  %0 = mpmd.transfer %w : (!m1) -> !m2 loc("params['transformer/2']")
  // expected-warning@unknown {{JAX locations: ["a params['transformer/1']"]}}
  %1 = mpmd.transfer %w : (!m1) -> !m2 loc("a params['transformer/1']")
  // expected-warning@+1 {{from mesh "m1" to mesh "m1"}}
  %2 = mpmd.transfer %w : (!m1) -> !host
  return %0, %1, %2 : !m2, !m2, !host
}

func.func @accepts_other_names_and_locations(%w: !m1 loc("params['head']"),
    %fused: !m1 loc(fused["params['transformer/1']", "params['transformer/2']"]),
    %site: !m1 loc(callsite("params['transformer/1']" at "params['transformer/2']")),
    %file: !m1 loc("params['transformer.py":1:1)) -> (!m2, !m2, !m2, !m2) attributes {topology = #topology} {
  %0 = mpmd.transfer %w : (!m1) -> !m2
  %1 = mpmd.transfer %fused : (!m1) -> !m2
  %2 = mpmd.transfer %site : (!m1) -> !m2
  %3 = mpmd.transfer %file : (!m1) -> !m2
  return %0, %1, %2, %3 : !m2, !m2, !m2, !m2
}

func.func @accepts_transfer_within_a_mesh(%w: !m1 loc("params['transformer/mlp']")) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.transfer %w : (!m1) -> !m1
  return %0 : !m1
}
