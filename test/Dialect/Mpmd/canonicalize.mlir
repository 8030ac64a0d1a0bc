// RUN: mpmd-opt %s -canonicalize | FileCheck %s

!m1 = !mpmd.mesh_tensor<"m1", tensor<4x8xf32>>
!m1_x = !mpmd.mesh_tensor<"m1", tensor<4x8xf32>, sharding=<@mesh, [{"x"}, {}]>>
!m1_y = !mpmd.mesh_tensor<"m1", tensor<4x8xf32>, sharding=<@mesh, [{}, {"x"}]>>
!m1_host = !mpmd.mesh_tensor<"m1", tensor<4x8xf32>, memory_kind="pinned_host">
!m2 = !mpmd.mesh_tensor<"m2", tensor<4x8xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @fragment_forwards_returned_argument
func.func @fragment_forwards_returned_argument(%x: !m1, %y: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]]:2 = mpmd.fragment<mesh="m1", origin=[]> (%arg0, %arg1)
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x, %y) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
    %s = stablehlo.subtract %a, %b : tensor<4x8xf32>
    // CHECK: mpmd.return %{{.*}}, %{{.*}} :
    mpmd.return %b, %s : tensor<4x8xf32>, tensor<4x8xf32>
  } : (!m1, !m1) -> (!m1, !m1)
  // CHECK: return %arg1, %[[R]]#1
  return %0#0, %0#1 : !m1, !m1
}

// CHECK-LABEL: func @user_fragment_forwards_too
func.func @user_fragment_forwards_too(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]>
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4x8xf32>) {
    %n = stablehlo.negate %a : tensor<4x8xf32>
    mpmd.return %n, %a : tensor<4x8xf32>, tensor<4x8xf32>
  } : (!m1) -> (!m1, !m1)
  // CHECK: return %[[R]]#0, %arg0
  return %0#0, %0#1 : !m1, !m1
}

// CHECK-LABEL: func @fragment_forwards_last_of_several_positions_only
func.func @fragment_forwards_last_of_several_positions_only(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]]:2 = mpmd.fragment
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4x8xf32>) {
    mpmd.return %a, %a : tensor<4x8xf32>, tensor<4x8xf32>
  } : (!m1) -> (!m1, !m1)
  // CHECK: return %[[R]]#0, %arg0
  return %0#0, %0#1 : !m1, !m1
}

// CHECK-LABEL: func @fragment_keeps_first_position_if_last_is_unused
func.func @fragment_keeps_first_position_if_last_is_unused(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]]:2 = mpmd.fragment
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4x8xf32>) {
    mpmd.return %a, %a : tensor<4x8xf32>, tensor<4x8xf32>
  } : (!m1) -> (!m1, !m1)
  // CHECK: return %[[R]]#0
  return %0#0 : !m1
}

// CHECK-LABEL: func @fragment_that_reshards_stays
func.func @fragment_that_reshards_stays(%x: !m1_x) -> !m1_y attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]] = mpmd.fragment
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4x8xf32>) {
    mpmd.return %a : tensor<4x8xf32>
  } : (!m1_x) -> !m1_y
  // CHECK: return %[[R]]
  return %0 : !m1_y
}

// CHECK-LABEL: func @pure_fragment_without_readers_goes
func.func @pure_fragment_without_readers_goes(%x: !m1) attributes {topology = #topology} {
  // CHECK-NEXT: return
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4x8xf32>) {
    %n = stablehlo.negate %a : tensor<4x8xf32>
    mpmd.return %n : tensor<4x8xf32>
  } : (!m1) -> !m1
  mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: tensor<4x8xf32>) {
    mpmd.return
  } : (!m1) -> ()
  return
}

// CHECK-LABEL: func @fragment_with_side_effect_stays
func.func @fragment_with_side_effect_stays(%x: !m1) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]>
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4x8xf32>) {
    %n = stablehlo.custom_call @print(%a) {has_side_effect = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %n : tensor<4x8xf32>
  } : (!m1) -> !m1
  // CHECK-NOT: origin=["g"]
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: tensor<4x8xf32>) {
    %n = stablehlo.custom_call @print(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpmd.return %n : tensor<4x8xf32>
  } : (!m1) -> !m1
  // CHECK: return
  return
}

// CHECK-LABEL: func @named_computation_and_loop_without_readers_go
func.func @named_computation_and_loop_without_readers_go(%x: tensor<4xf32>) {
  // CHECK-NEXT: return
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
    mpmd.return %a : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// CHECK-LABEL: func @values_without_readers_go
func.func @values_without_readers_go(%x: tensor<4x8xf32>, %y: !m1) attributes {topology = #topology} {
  // CHECK-NEXT: return
  %0 = mpmd.assign %x : (tensor<4x8xf32>) -> !m1
  %1 = mpmd.unassign %y : (!m1) -> tensor<4x8xf32>
  %2 = mpmd.transfer %y : (!m1) -> !m2
  %3 = mpmd.broadcast %x : tensor<4x8xf32>
  %4 = mpmd.reduce<add> %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = mpmd.named_tensor %x name="t" : tensor<4x8xf32>
  return
}

// CHECK-LABEL: func @calls_without_readers_stay
func.func @calls_without_readers_stay(%x: !m1) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.call @body
  %0 = mpmd.call @body(%x) : (!m1) -> !m1
  // CHECK-NEXT: mpmd.fragment_call
  %1 = mpmd.fragment_call<mesh="m1", origin=[]> @program(%x) : (!m1) -> !m1
  // CHECK-NEXT: return
  return
}
func.func private @body(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
}
func.func @program(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<4x8xf32>
}

// CHECK-LABEL: func @assign_of_unassign_stays
func.func @assign_of_unassign_stays(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.unassign
  // CHECK-NEXT: mpmd.assign
  %0 = mpmd.unassign %x : (!m1) -> tensor<4x8xf32>
  %1 = mpmd.assign %0 : (tensor<4x8xf32>) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @identity_transfer_goes
func.func @identity_transfer_goes(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: return %arg0
  %0 = mpmd.transfer {any} %x : (!m1) -> !m1
  return %0 : !m1
}

// CHECK-LABEL: func @transfers_on_one_mesh_collapse
func.func @transfers_on_one_mesh_collapse(%x: !m1) -> !m1_y attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg0 : (!mpmd.mesh_tensor<"m1", tensor<4x8xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4x8xf32>, sharding=<@mesh, [{}, {"x"}]>>
  %0 = mpmd.transfer {inner} %x : (!m1) -> !m1_x
  %1 = mpmd.transfer {outer} %0 : (!m1_x) -> !m1_y
  // CHECK-NEXT: return %[[T]]
  return %1 : !m1_y
}

// CHECK-LABEL: func @longer_chains_collapse_too
func.func @longer_chains_collapse_too(%x: !m1) -> !m1_y attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg0
  %0 = mpmd.transfer %x : (!m1) -> !m1_x
  %1 = mpmd.transfer %0 : (!m1_x) -> !m1
  %2 = mpmd.transfer %1 : (!m1) -> !m1_y
  // CHECK-NEXT: return %[[T]]
  return %2 : !m1_y
}

// CHECK-LABEL: func @inner_transfer_with_another_reader_stays
func.func @inner_transfer_with_another_reader_stays(%x: !m1) -> (!m1_x, !m1_y) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer {inner} %arg0
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer %arg0
  %0 = mpmd.transfer {inner} %x : (!m1) -> !m1_x
  %1 = mpmd.transfer %0 : (!m1_x) -> !m1_y
  // CHECK-NEXT: return %[[A]], %[[B]]
  return %0, %1 : !m1_x, !m1_y
}

// The collapse goes first: both ends of the chain are left.
// CHECK-LABEL: func @identity_after_read_transfer_reads_the_source
func.func @identity_after_read_transfer_reads_the_source(%x: !m1) -> (!m1_x, !m1_x) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer {inner} %arg0
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer %arg0
  %0 = mpmd.transfer {inner} %x : (!m1) -> !m1_x
  %1 = mpmd.transfer %0 : (!m1_x) -> !m1_x
  // CHECK-NEXT: return %[[A]], %[[B]]
  return %0, %1 : !m1_x, !m1_x
}

// CHECK-LABEL: func @memory_kinds_do_not_stop_the_collapse
func.func @memory_kinds_do_not_stop_the_collapse(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: return %arg0
  %0 = mpmd.transfer %x : (!m1) -> !m1_host
  %1 = mpmd.transfer %0 : (!m1_host) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @chain_that_leaves_the_mesh_stays
func.func @chain_that_leaves_the_mesh_stays(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer
  // CHECK-NEXT: mpmd.transfer
  %0 = mpmd.transfer %x : (!m1) -> !m2
  %1 = mpmd.transfer %0 : (!m2) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @broadcasts_collapse
func.func @broadcasts_collapse(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = mpmd.broadcast {inner} %arg0
  // CHECK-NEXT: %[[B:.*]] = mpmd.broadcast %arg0
  %0 = mpmd.broadcast {inner} %x : tensor<4xf32>
  %1 = mpmd.broadcast {outer} %0 : tensor<4xf32>
  // CHECK-NEXT: return %[[A]], %[[B]]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @reduction_of_none_or_of_same_kind_goes
func.func @reduction_of_none_or_of_same_kind_goes(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[R:.*]] = mpmd.reduce<max> {inner} %arg0, %arg0
  // CHECK-NEXT: return %[[R]], %[[R]]
  %0 = mpmd.reduce<max> {inner} %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mpmd.reduce<none> %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpmd.reduce<max> %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @reductions_of_other_kinds_stay
func.func @reductions_of_other_kinds_stay(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: mpmd.reduce<mul>
  // CHECK-NEXT: mpmd.reduce<add>
  // CHECK-NEXT: mpmd.reduce<none>
  // CHECK-NEXT: mpmd.reduce<add>
  // CHECK-NEXT: mpmd.reduce<mul>
  %0 = mpmd.reduce<mul> %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mpmd.reduce<add> %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpmd.reduce<none> %x : (tensor<4xf32>) -> tensor<4xf32>
  %3 = mpmd.reduce<add> %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = mpmd.reduce<mul> %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @constants_leave_loops_but_no_isolated_bodies
func.func @constants_leave_loops_but_no_isolated_bodies(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<1.0
  // CHECK-NEXT: mpmd.for
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
    // CHECK-NEXT: stablehlo.add %{{.*}}, %[[C]]
    %c = stablehlo.constant dense<1.0> : tensor<4xf32>
    %s = stablehlo.add %a, %c : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : tensor<4xf32>
  // CHECK: mpmd.named_computation
  %1 = mpmd.named_computation<"f"> (%0) (%a: tensor<4xf32>) {
    // CHECK-NEXT: %[[D:.*]] = stablehlo.constant dense<2.0
    // CHECK-NEXT: stablehlo.add %{{.*}}, %[[D]]
    // CHECK-NEXT: stablehlo.add %{{.*}}, %[[D]]
    %c = stablehlo.constant dense<2.0> : tensor<4xf32>
    %s = stablehlo.add %a, %c : tensor<4xf32>
    %d = stablehlo.constant dense<2.0> : tensor<4xf32>
    %t = stablehlo.add %s, %d : tensor<4xf32>
    mpmd.return %t : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// From where attributes say the host, the fragment moves it.
// CHECK-LABEL: func @fragment_keeps_argument_from_the_host
// CHECK-NEXT:    %[[F:.*]] = mpmd.fragment
// CHECK:         mpmd.transfer %[[F]]
func.func @fragment_keeps_argument_from_the_host(%x: !m1 {mhlo.memory_kind = "pinned_host"}) -> !m2 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4x8xf32>) {
    mpmd.return %a : tensor<4x8xf32>
  } : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  return %1 : !m2
}
