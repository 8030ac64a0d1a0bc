// RUN: mpmd-opt %s -mpmd-remove-transfer-cycles | FileCheck %s

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m1_dev = !mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="device">
!m1_host = !mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="pinned_host">
!m1_x = !mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}]>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
!m2_dev = !mpmd.mesh_tensor<"m2", tensor<4xf32>, memory_kind="device">
!m2_host = !mpmd.mesh_tensor<"m2", tensor<4xf32>, memory_kind="pinned_host">
!m3 = !mpmd.mesh_tensor<"m3", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>, <"m3": <["x"=2]>>>

// CHECK-LABEL: func @collapses_rounds_onto_the_first_one
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @collapses_rounds_onto_the_first_one(%x: !m1) -> (!m1, !m2, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[X]] : ({{.*}}"m1"{{.*}}) -> {{.*}}"m2"
  // CHECK-NEXT: return %[[X]], %[[T]], %[[X]]
  %0 = mpmd.transfer %x : (!m1) -> !m2
  %1 = mpmd.transfer %0 : (!m2) -> !m1
  %2 = mpmd.transfer %1 : (!m1) -> !m2
  %3 = mpmd.transfer %2 : (!m2) -> !m1
  return %1, %2, %3 : !m1, !m2, !m1
}

// CHECK-LABEL: func @keeps_transfers_that_lead_away_even_if_dead
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @keeps_transfers_that_lead_away_even_if_dead(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer %[[X]]
  // CHECK-NEXT: mpmd.transfer %[[A]]
  // CHECK-NEXT: return %[[X]]
  %0 = mpmd.transfer %x : (!m1) -> !m2
  %1 = mpmd.transfer %0 : (!m2) -> !m3
  %2 = mpmd.transfer %1 : (!m3) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @tells_device_from_no_memory_kind
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @tells_device_from_no_memory_kind(%x: !m1) -> !m1_dev attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer %[[X]]
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer %[[A]]
  // CHECK-NEXT: return %[[B]]
  %0 = mpmd.transfer %x : (!m1) -> !m2
  %1 = mpmd.transfer %0 : (!m2) -> !m1_dev
  return %1 : !m1_dev
}

// CHECK-LABEL: func @passes_through_device_memory
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @passes_through_device_memory(%x: !m1_dev) -> !m1_dev attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer %[[X]]
  // CHECK-NEXT: return %[[X]]
  %0 = mpmd.transfer %x : (!m1_dev) -> !m2_dev
  %1 = mpmd.transfer %0 : (!m2_dev) -> !m1_dev
  return %1 : !m1_dev
}

// CHECK-LABEL: func @tells_shardings_apart
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @tells_shardings_apart(%x: !m1) -> !m1_x attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer %[[X]]
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer %[[A]]
  // CHECK-NEXT: return %[[B]]
  %0 = mpmd.transfer %x : (!m1) -> !m2
  %1 = mpmd.transfer %0 : (!m2) -> !m1_x
  return %1 : !m1_x
}

// CHECK-LABEL: func @keeps_cycle_over_host_memory
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @keeps_cycle_over_host_memory(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer %[[X]]
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer %[[A]]
  // CHECK-NEXT: return %[[B]]
  %0 = mpmd.transfer %x : (!m1) -> !m2_host
  %1 = mpmd.transfer %0 : (!m2_host) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @keeps_cycle_that_starts_in_host_memory
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @keeps_cycle_that_starts_in_host_memory(%x: !m1_host) -> !m1_host attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer %[[X]]
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer %[[A]]
  // CHECK-NEXT: return %[[B]]
  %0 = mpmd.transfer %x : (!m1_host) -> !m2
  %1 = mpmd.transfer %0 : (!m2) -> !m1_host
  return %1 : !m1_host
}

// CHECK-LABEL: func @removes_transfer_to_the_same_type
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @removes_transfer_to_the_same_type(%x: !m1, %y: !m1_host) -> (!m1, !m1_host) attributes {topology = #topology} {
  // CHECK-NEXT: %[[H:.*]] = mpmd.transfer %[[Y]]
  // CHECK-NEXT: return %[[X]], %[[H]]
  %0 = mpmd.transfer {note} %x : (!m1) -> !m1
  %1 = mpmd.transfer %y : (!m1_host) -> !m1_host
  return %0, %1 : !m1, !m1_host
}

// CHECK-LABEL: func @looks_upstream_past_other_types
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @looks_upstream_past_other_types(%x: !m1) -> (!m2, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer %[[X]] : ({{.*}}"m1"{{.*}}) -> {{.*}}"m2"
  // CHECK-NEXT: mpmd.transfer %[[A]] : ({{.*}}"m2"{{.*}}) -> {{.*}}"m3"
  // CHECK-NEXT: return %[[A]], %[[X]]
  %0 = mpmd.transfer %x : (!m1) -> !m2
  %1 = mpmd.transfer %0 : (!m2) -> !m3
  %2 = mpmd.transfer %1 : (!m3) -> !m2
  %3 = mpmd.transfer %2 : (!m2) -> !m1
  return %2, %3 : !m2, !m1
}

// CHECK-LABEL: func @sees_no_cycle_through_a_fragment
func.func @sees_no_cycle_through_a_fragment(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: %[[F:.*]] = mpmd.fragment
  // CHECK: %[[T:.*]] = mpmd.transfer %[[F]]
  // CHECK-NEXT: return %[[T]]
  %0 = mpmd.transfer %x : (!m1) -> !m2
  %1 = mpmd.fragment<mesh="m2", origin=["f"]> (%0) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m2) -> !m2
  %2 = mpmd.transfer %1 : (!m2) -> !m1
  return %2 : !m1
}
