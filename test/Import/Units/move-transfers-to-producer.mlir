// RUN: mpmd-opt %s -mpmd-move-transfers-to-producer | FileCheck %s

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @moves_transfers_after_what_they_read_in_reverse_order
// CHECK-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"m1"{{.*}}, %[[Y:.*]]: !mpmd.mesh_tensor<"m2"
func.func @moves_transfers_after_what_they_read_in_reverse_order(%x: !m1, %y: !m2) -> (!m2, !m2, !m1, !m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[Z:.*]] = mpmd.transfer %[[Y]]
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  // CHECK:      %[[T2:.*]] = mpmd.transfer {second} %[[F]]
  // CHECK-NEXT: %[[T1:.*]] = mpmd.transfer {first} %[[F]]
  // CHECK-NEXT: %[[S:.*]] = mpmd.transfer %[[T1]]
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="m1", origin=["k"]> (%[[X]])
  // CHECK:      return %[[T1]], %[[T2]], %[[Z]], %[[S]], %[[K]]
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %k = mpmd.fragment<mesh="m1", origin=["k"]> (%x) (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1) -> !m1
  %t1 = mpmd.transfer {first} %f : (!m1) -> !m2
  %t2 = mpmd.transfer {second} %f : (!m1) -> !m2
  %z = mpmd.transfer %y : (!m2) -> !m1
  %s = mpmd.transfer %t1 : (!m2) -> !m1
  return %t1, %t2, %z, %s, %k : !m2, !m2, !m1, !m1, !m1
}

// CHECK-LABEL: func @reverses_transfers_of_all_arguments_together
// CHECK-SAME:    (%[[X:.*]]: !mpmd.mesh_tensor<"m1"{{.*}}, %[[Y:.*]]: !mpmd.mesh_tensor<"m2"
func.func @reverses_transfers_of_all_arguments_together(%x: !m1, %y: !m2) -> (!m2, !m1, !m2)
    attributes {mesh_shape = #sdy.mesh<["x"=2]>, topology = #topology} {
  // CHECK-NEXT: %[[C:.*]] = mpmd.transfer {third} %[[X]]
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer {second} %[[Y]]
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer {first} %[[X]]
  // CHECK-NEXT: return %[[A]], %[[B]], %[[C]]
  %a = mpmd.transfer {first} %x : (!m1) -> !m2
  %b = mpmd.transfer {second} %y : (!m2) -> !m1
  %c = mpmd.transfer {third} %x : (!m1) -> !m2
  return %a, %b, %c : !m2, !m1, !m2
}

// CHECK-LABEL: func @leaves_a_single_transfer_at_its_producer_alone
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @leaves_a_single_transfer_at_its_producer_alone(%x: !m1) -> !m2 attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %[[X]]
  // CHECK-NEXT: return %[[T]]
  %t = mpmd.transfer %x : (!m1) -> !m2
  return %t : !m2
}

// CHECK-LABEL: func private @skips_declarations
// CHECK-SAME:    attributes {topology = #mpmd.topology<{{[^{}]*}}>}{{$}}
func.func private @skips_declarations(!m1) -> !m2 attributes {topology = #topology}
