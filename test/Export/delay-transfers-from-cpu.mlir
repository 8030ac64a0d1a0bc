// RUN: mpmd-opt %s -mpmd-delay-transfers-from-cpu | FileCheck %s

!cpu = !mpmd.mesh_tensor<"m/cpu", tensor<4xf32>>
!pinned = !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="pinned_host">
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!other = !mpmd.mesh_tensor<"m/cpu2", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"m/cpu": <["x"=2]>>, <"m/cpu2": <["x"=2]>>>

// CHECK-LABEL: func @two_before_one_reader_keep_their_order
// CHECK-SAME:    (%[[CPU:.*]]: !mpmd.mesh_tensor<"m/cpu", tensor<4xf32>>, %[[PINNED:.*]]: !mpmd.mesh_tensor<"m", tensor<4xf32>, memory_kind="pinned_host">, %
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["g"]>
// CHECK:         %[[T:.*]] = mpmd.transfer %[[CPU]]
// CHECK-NEXT:    %[[U:.*]] = mpmd.transfer %[[PINNED]]
// CHECK-NEXT:    return %{{.*}}, %[[U]], %[[T]]
func.func @two_before_one_reader_keep_their_order(%cpu: !cpu, %pinned: !pinned, %a: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.transfer %cpu : (!cpu) -> !m
  %1 = mpmd.transfer %pinned : (!pinned) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %2, %1, %0 : !m, !m, !m
}

// CHECK-LABEL: func @first_of_several_readers_counts
// CHECK-NEXT:    %[[G:.*]] = mpmd.fragment<mesh="m", origin=["g"]>
// CHECK:         %[[T:.*]] = mpmd.transfer
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["h"]> (%[[T]])
// CHECK:         mpmd.fragment<mesh="m", origin=["i"]> (%[[T]])
func.func @first_of_several_readers_counts(%cpu: !cpu, %a: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.transfer %cpu : (!cpu) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["h"]> (%0) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["i"]> (%0) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %1, %2, %3 : !m, !m, !m
}

// The first is moved to where the second is, before that moves on.
// CHECK-LABEL: func @chain_is_stretched
// CHECK-NEXT:    %[[T:.*]] = mpmd.transfer %
// CHECK-NEXT:    %[[G:.*]] = mpmd.fragment<mesh="m", origin=["g"]>
// CHECK:         %[[U:.*]] = mpmd.transfer %[[T]]
// CHECK-NEXT:    return %[[G]], %[[U]]
func.func @chain_is_stretched(%cpu: !cpu, %a: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.transfer %cpu : (!cpu) -> !pinned
  %1 = mpmd.transfer %0 : (!pinned) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %2, %1 : !m, !m
}

// Moves to the host, too: only where from counts.
// CHECK-LABEL: func @destination_does_not_count
// CHECK-NEXT:    %[[TO:.*]] = mpmd.transfer
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["g"]>
// CHECK:         %[[WITHIN:.*]] = mpmd.transfer
// CHECK-NEXT:    return %{{.*}}, %[[WITHIN]], %[[TO]]
func.func @destination_does_not_count(%cpu: !cpu, %a: !m) -> (!m, !cpu, !cpu) attributes {topology = #topology} {
  %0 = mpmd.transfer %cpu : (!cpu) -> !cpu
  %1 = mpmd.transfer %a : (!m) -> !cpu
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %2, %0, %1 : !m, !cpu, !cpu
}

// CHECK-LABEL: func @leaves_unread_transfers_and_other_names_alone
// CHECK-NEXT:    mpmd.transfer
// CHECK-NEXT:    mpmd.transfer
// CHECK-NEXT:    mpmd.fragment
func.func @leaves_unread_transfers_and_other_names_alone(%cpu: !cpu, %other: !other, %a: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.transfer %cpu : (!cpu) -> !m
  %1 = mpmd.transfer %other : (!other) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %2, %1 : !m, !m
}

// CHECK-LABEL: func private @leaves_other_than_entry_points_alone
// CHECK-NEXT:    mpmd.transfer
// CHECK-NEXT:    mpmd.fragment
func.func private @leaves_other_than_entry_points_alone(%cpu: !cpu, %a: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.transfer %cpu : (!cpu) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %1, %0 : !m, !m
}
