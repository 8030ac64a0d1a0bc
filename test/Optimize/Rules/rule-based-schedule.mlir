// RUN: mpmd-opt %s '-mpmd-rule-based-schedule=rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["f"(1)],call_counter=1,mesh_name="m0")->FragmentInfo(origins=["missing"],mesh_name="m0")->FragmentInfo(origins=["f"],call_counter=0,mesh_name="m0")]),FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["gone"],mesh_name="m0")->FragmentInfo(origins=["last"],mesh_name="m0")->FragmentInfo(origins=["first"],stage=2,split_type=kDropTransferred,mesh_name="m0")]),FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["x"],mesh_name="m1")->FragmentInfo(origins=["x"],mesh_name="m0")]),FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["reader"],mesh_name="m0")->FragmentInfo(origins=["read"],mesh_name="m0")]),FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["late"],mesh_name="m0")->FragmentInfo(origins=["early"],mesh_name="m0")]),FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["early"],mesh_name="m0")->FragmentInfo(origins=["late"],mesh_name="m0")]),FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["b"],mesh_name="m0")->FragmentInfo(origins=["a"],call_counter=0,mesh_name="m0")]),FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["z","y"],mesh_name="m0")->FragmentInfo(origins=["w"],mesh_name="m0")]),FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["y","z"],mesh_name="m0")->FragmentInfo(origins=["v"],mesh_name="m0")]),FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["alone"],mesh_name="m0")])' -verify-diagnostics -split-input-file | FileCheck %s

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// CHECK-LABEL: func @bridges_over_a_missing_fragment
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 1
// CHECK:       origin=["f"]> {{.*}} {call_counter = 0 : ui32} (
// CHECK-NOT:   control_operand_start_idx
func.func @bridges_over_a_missing_fragment(%x: !m0) -> (!m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1, %2, %3 : !m0, !m0, !m0, !m0
}

// -----

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// CHECK-LABEL: func @a_missing_first_fragment_drops_out
// CHECK:       %[[LAST:.*]] = mpmd.fragment<mesh="m0", origin=["last"]>
// CHECK:       %[[FIRST:.*]] = mpmd.fragment<mesh="m0", origin=["first"], stage=2>
// CHECK:       return %[[FIRST]], %[[LAST]]
func.func @a_missing_first_fragment_drops_out(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["first"], stage=2> (%x) {split_drop_transferred} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["last"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}

// -----

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// CHECK-LABEL: func @does_not_order_different_meshes
// CHECK:       mesh="m0"
// CHECK:       mesh="m1"
func.func @does_not_order_different_meshes(%x: !m0, %y: !m1) -> (!m0, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["x"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m1", origin=["x"]> (%y) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1 : !m0, !m1
}

// -----

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// Neither an error nor a warning.
// CHECK-LABEL: func @data_flow_wins_over_rules
// CHECK:       origin=["read"]>
// CHECK:       origin=["reader"]>
func.func @data_flow_wins_over_rules(%x: !m0) -> !m0 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["read"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["reader"]> (%0) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %1 : !m0
}

// -----

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// A path that would lead back in the block is not seen, so both rules hold, and
// the sort breaks their cycle after all that is free of it.
// CHECK-LABEL: func @rules_in_a_circle_are_broken_at_the_first
// CHECK:       origin=["free"]>
// CHECK:       origin=["early"]>
// CHECK:       origin=["late"]>
// CHECK-NOT:   control_operand_start_idx
func.func @rules_in_a_circle_are_broken_at_the_first(%x: !m0) -> (!m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["early"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["late"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["free"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1, %2 : !m0, !m0, !m0
}

// -----

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// CHECK-LABEL: func @absent_fields_fit_absent_ones_only
// CHECK:       origin=["a"]>
// CHECK:       origin=["b"]>
func.func @absent_fields_fit_absent_ones_only(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["a"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["b"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1 : !m0, !m0
}

// -----

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// The rule that lists y before z fits; the one the other way round does not.
// CHECK-LABEL: func @origins_of_fragments_are_sorted_and_those_of_rules_are_not
// CHECK:       origin=["w"]>
// CHECK:       origin=["z", "y"]>
// CHECK:       origin=["v"]>
func.func @origins_of_fragments_are_sorted_and_those_of_rules_are_not(%x: !m0) -> (!m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["w"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["v"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["z", "y"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1, %2 : !m0, !m0, !m0
}

// -----

// CHECK-LABEL: func @leaves_functions_without_topology_alone
func.func @leaves_functions_without_topology_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return %arg0
  return %x : tensor<4xf32>
}
