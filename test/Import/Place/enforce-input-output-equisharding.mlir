// RUN: mpmd-opt %s -mpmd-enforce-input-output-equisharding=constraints=0:0,1:0 | FileCheck %s

!t = tensor<4xf32>
!p = !mpmd.mesh_tensor<"p", tensor<4xf32>>
!p_sharded = !mpmd.mesh_tensor<"p", tensor<4xf32>, sharding=<@mesh, [{"d"}]>>
!p_host = !mpmd.mesh_tensor<"p", tensor<4xf32>, memory_kind="pinned_host">
!q = !mpmd.mesh_tensor<"q", tensor<4xf32>>
#topology = #mpmd.topology<<"p": <["d"=2]>>, <"q": <["d"=2]>>>

// CHECK-LABEL: func @stacks_transfers_of_two_constraints
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"p", tensor<4xf32>, sharding=<@mesh, [{"d"}]>>, !mpmd.mesh_tensor<"q", tensor<4xf32>>)
func.func @stacks_transfers_of_two_constraints(%x: !p, %y: !p_sharded, %z: !q) -> (!q, !q) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T0:.*]] = mpmd.transfer %arg2 : ({{.*}}"q"{{.*}}) -> !mpmd.mesh_tensor<"p", tensor<4xf32>>
  // CHECK-NEXT: %[[T1:.*]] = mpmd.transfer %[[T0]] : {{.*}} -> !mpmd.mesh_tensor<"p", tensor<4xf32>, sharding=<@mesh, [{"d"}]>>
  // CHECK-NEXT: return %[[T1]], %arg2
  return %z, %z : !q, !q
}

// CHECK-LABEL: func @compares_types_before_the_pass
func.func @compares_types_before_the_pass(%x: !p, %y: !q) -> !q attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg1
  // CHECK-NEXT: return %[[T]]
  return %y : !q
}

// CHECK-LABEL: func @transfers_between_memory_kinds
func.func @transfers_between_memory_kinds(%x: !p_host, %y: !p) -> !p attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer %arg1 : {{.*}} -> !mpmd.mesh_tensor<"p", tensor<4xf32>, memory_kind="pinned_host">
  return %y : !p
}

// CHECK-LABEL: func @keeps_equal_types
func.func @keeps_equal_types(%x: !p, %y: !p) -> (!p, !q) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer
  // CHECK-NEXT: return %arg0, %[[T]]
  %0 = mpmd.transfer %y : (!p) -> !q
  return %x, %0 : !p, !q
}

// CHECK-LABEL: func private @leaves_private_function_alone
func.func private @leaves_private_function_alone(%x: !p, %y: !p) -> !q attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer
  // CHECK-NEXT: return %[[T]]
  %0 = mpmd.transfer %x : (!p) -> !q
  return %0 : !q
}

// CHECK-LABEL: func @leaves_plain_function_alone
func.func @leaves_plain_function_alone(%x: tensor<i32>) -> !t {
  // CHECK-NEXT: builtin.unrealized_conversion_cast
  // CHECK-NEXT: return
  %0 = builtin.unrealized_conversion_cast %x : tensor<i32> to !t
  return %0 : !t
}

// CHECK-LABEL: func @leaves_functions_of_two_blocks_alone
// CHECK-NOT:     mpmd.transfer
func.func @leaves_functions_of_two_blocks_alone(%x: !p, %y: !p_sharded, %z: !q) -> !q attributes {topology = #topology} {
  return %z : !q
^bb1:
  return %z : !q
}
