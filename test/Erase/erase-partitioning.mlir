// RUN: mpmd-opt %s -split-input-file -mpmd-erase-partitioning | FileCheck %s --implicit-check-not=mpmd. --implicit-check-not=topology --implicit-check-not=mesh_shape

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
!m2_host = !mpmd.mesh_tensor<"m2", tensor<4xf32>, sharding=<@mesh, [{"x"}]>, memory_kind="pinned_host">
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @inlines_fragments_and_drops_transfers
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
func.func @inlines_fragments_and_drops_transfers(%x: !m1) -> (!m2_host, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate %[[X]] : tensor<4xf32>
  // CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[N]], %[[X]]
  // CHECK-NEXT: return %[[S]], %[[X]]
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    %n = stablehlo.negate %a : tensor<4xf32>
    mpmd.return %n, %a : tensor<4xf32>, tensor<4xf32>
  } : (!m1) -> (!m1, !m1)
  %1 = mpmd.transfer %0#0 : (!m1) -> !m2
  %2 = mpmd.transfer %0#1 : (!m1) -> !m2
  %3 = mpmd.fragment<mesh="m2", origin=["g"], in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>]> (%1, %2) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %s = stablehlo.add %a, %b : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m2, !m2) -> !m2_host
  return %3, %0#1 : !m2_host, !m1
}

// CHECK-LABEL: func @keeps_tokens_between_fragments
func.func @keeps_tokens_between_fragments(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = stablehlo.create_token
  // CHECK-NEXT: stablehlo.after_all %[[T]]
  %0 = mpmd.fragment<mesh="m1", origin=[]> () () {
    %t = stablehlo.create_token : !stablehlo.token
    mpmd.return %t : !stablehlo.token
  } : () -> !stablehlo.token
  %1:2 = mpmd.fragment<mesh="m1", origin=[]> (%0, %x) (%t: !stablehlo.token, %a: tensor<4xf32>) {
    %u = stablehlo.after_all %t : !stablehlo.token
    mpmd.return %u, %a : !stablehlo.token, tensor<4xf32>
  } : (!stablehlo.token, !m1) -> (!stablehlo.token, !m1)
  return %1#1 : !m1
}

// CHECK-LABEL: func @drops_what_import_works_with
func.func @drops_what_import_works_with(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate %arg0
  // CHECK-NEXT: return %[[N]]
  %0 = mpmd.named_tensor %x name="t" : tensor<4xf32>
  %1 = mpmd.named_computation<"outer"> (%0) (%a: tensor<4xf32>) {
    %n = mpmd.named_computation<"inner"(1)> (%a) (%b: tensor<4xf32>) {
      %n = stablehlo.negate %b : tensor<4xf32>
      mpmd.return %n : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %n : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpmd.broadcast %1 : tensor<4xf32>
  %3 = mpmd.assign {origin = "f"} %2 : (tensor<4xf32>) -> !m1
  %4 = mpmd.unassign {origin = "f"} %3 : (!m1) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// CHECK-LABEL: func @reduction_becomes_chain_of_binary_ops
func.func @reduction_becomes_chain_of_binary_ops(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.maximum %arg0, %arg1
  // CHECK-NEXT: %[[B:.*]] = stablehlo.maximum %[[A]], %arg2
  %0 = mpmd.reduce<max> %x, %y, %z : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mpmd.reduce<none> %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpmd.reduce<or> %1 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: return %[[B]]
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func @reductions_use_the_op_of_their_kind
func.func @reductions_use_the_op_of_their_kind(%x: tensor<4xi1>) -> tensor<4xi1> attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.add
  // CHECK-NEXT: stablehlo.minimum
  // CHECK-NEXT: stablehlo.multiply
  // CHECK-NEXT: stablehlo.or
  // CHECK-NEXT: stablehlo.and
  // CHECK-NEXT: return
  %0 = mpmd.reduce<add> %x, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %1 = mpmd.reduce<min> %0, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %2 = mpmd.reduce<mul> %1, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %3 = mpmd.reduce<or> %2, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %4 = mpmd.reduce<and> %3, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %4 : tensor<4xi1>
}

// CHECK-LABEL: func @calls_become_plain_calls
func.func @calls_become_plain_calls(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = call @body(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = call @program(%[[A]]) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = mpmd.call @body(%x) {call_counter = 1 : ui32} : (!m1) -> !m1
  %1 = mpmd.fragment_call<mesh="m1", origin=["f"]> @program(%0) {remat} : (!m1) -> !m1
  return %1 : !m1
}
// CHECK: func private @body(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
func.func private @body(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
}
// CHECK: func private @program(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
func.func private @program(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>, reserved_hbm_bytes = 1 : i64} {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func @loop_becomes_while_with_counter
func.func @loop_becomes_while_with_counter(%x: !m1, %y: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<ui32>
  // CHECK-NEXT: %[[W:.*]]:3 = stablehlo.while(%[[I:.*]] = %[[ZERO]], %[[A:.*]] = %arg0, %[[C:.*]] = %arg1) : tensor<ui32>, tensor<4xf32>, tensor<4xf32>
  // CHECK:        %[[END:.*]] = stablehlo.constant dense<6> : tensor<ui32>
  // CHECK-NEXT:   stablehlo.compare NE, %[[I]], %[[END]]
  // CHECK:      } do {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %[[A]], %[[C]]
  // CHECK-NEXT:   %[[ONE:.*]] = stablehlo.constant dense<1> : tensor<ui32>
  // CHECK-NEXT:   %[[NEXT:.*]] = stablehlo.add %[[I]], %[[ONE]]
  // CHECK-NEXT:   stablehlo.return %[[NEXT]], %[[S]], %[[C]]
  %0 = mpmd.for (%x) {iterations = 6 : ui32, unroll_factor = 2 : ui32} (%a: !m1, %i: tensor<ui32>) {
    %1 = mpmd.fragment<mesh="m1", origin=[]> (%a, %y) (%b: tensor<4xf32>, %c: tensor<4xf32>) {
      %s = stablehlo.add %b, %c : tensor<4xf32>
      mpmd.return %s : tensor<4xf32>
    } : (!m1, !m1) -> !m1
    mpmd.return %1 : !m1
  } : !m1
  // CHECK: return %[[W]]#1
  return %0 : !m1
}

// CHECK-LABEL: func @loop_index_is_the_counter
func.func @loop_index_is_the_counter(%x: tensor<i32>) -> tensor<i32> attributes {topology = #topology} {
  // CHECK: stablehlo.while(%[[I:.*]] = %{{.*}}, %[[A:.*]] = %arg0) : tensor<i32>, tensor<i32>
  // CHECK: stablehlo.add %[[A]], %[[I]]
  %0 = mpmd.for (%x) {iterations = 6 : ui32} (%a: tensor<i32>, %i: tensor<i32>) {
    %s = stablehlo.add %a, %i : tensor<i32>
    mpmd.return %s : tensor<i32>
  } : tensor<i32>
  return %0 : tensor<i32>
}

// CHECK-LABEL: func @nested_loops_hand_values_down
func.func @nested_loops_hand_values_down(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  // CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %[[A:.*]] = %arg0, %[[Y:.*]] = %arg1)
  // CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %[[B:.*]] = %[[A]], %[[Z:.*]] = %[[Y]])
  // CHECK: stablehlo.add %[[B]], %[[Z]]
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
    %1 = mpmd.for (%a) {iterations = 3 : ui32} (%b: tensor<4xf32>, %j: tensor<ui32>) {
      %s = stablehlo.add %b, %y : tensor<4xf32>
      mpmd.return %s : tensor<4xf32>
    } : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The mesh that nothing names goes with the shardings; one device stays.
// CHECK-NOT: @mesh
// CHECK: sdy.mesh @device = <[], device_ids=[0]>
sdy.mesh @mesh = <["x"=2]>
sdy.mesh @device = <[], device_ids=[0]>

// CHECK: func @drops_attributes_about_meshes(
// CHECK-SAME: %{{.*}}: tensor<4xf32> {jax.kept}, %{{.*}}: tensor<4xf32> {sdy.sharding = #sdy.sharding<@device, []>})
// CHECK-SAME: -> (tensor<4xf32> {jax.result_info = "r"}) attributes {kept}
func.func @drops_attributes_about_meshes(
    %x: tensor<4xf32> {jax.kept, mhlo.memory_kind = "pinned_host", mpmd.use_set = #mpmd.meshes_with_origins<"m1">, sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %y: tensor<4xf32> {sdy.sharding = #sdy.sharding<@device, []>})
    -> (tensor<4xf32> {jax.result_info = "r", sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    attributes {kept, mpmd.copies = array<i64: 1>, topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // CHECK-NEXT: stablehlo.negate %arg0 : tensor<4xf32>
  %0 = stablehlo.negate %x {mpmd.src_set = #mpmd.meshes_with_origins<"m1">, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>, unroll_counter = 1 : ui32} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-NOT: @mesh
sdy.mesh @mesh = <["x"=2]>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>

// CHECK-LABEL: func @drops_ops_that_state_shardings
func.func @drops_ops_that_state_shardings(%x: !m1) -> !m1 attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate %arg0
  // CHECK-NEXT: return %[[N]]
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) {
    %b = sdy.data_flow_edge %a sharding=<@mesh, [{"x"}]> : tensor<4xf32>
    %c = sdy.named_computation<"f">(%b) (%d: tensor<4xf32>) {
      %e = sdy.sharding_constraint %d <@mesh, [{"x"}]> : tensor<4xf32>
      %n = stablehlo.negate %e : tensor<4xf32>
      sdy.return %n : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %c : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = sdy.data_flow_edge %0 : !m1
  return %1 : !m1
}

// -----

// A manual computation works on pieces: it and its mesh cannot go.
// CHECK: sdy.mesh @mesh
sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @keeps_manual_computations
func.func @keeps_manual_computations(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // CHECK-NEXT: sdy.manual_computation
  // CHECK-NEXT: stablehlo.negate
  // CHECK-NEXT: sdy.return
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
    %n = stablehlo.negate %a : tensor<2xf32>
    sdy.return %n : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: sdy.mesh @mesh
sdy.mesh @mesh = <["x"=2]>

// CHECK: func @leaves_plain_modules_alone(%{{.*}}: tensor<4xf32> {sdy.sharding =
func.func @leaves_plain_modules_alone(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>

// CHECK-LABEL: func @puts_ops_of_shared_bodies_back
// CHECK-NEXT: %[[S:.*]] = stablehlo.sine %{{.*}} : tensor<4xf32>
// CHECK-NEXT: return %[[S]]
// CHECK-NOT: @body
func.func @puts_ops_of_shared_bodies_back(%x: !m1) -> !m1 attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    %s = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m1) -> !m1
  return %0 : !m1
}
func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpmd.shared_body} {
  %s = stablehlo.sine %a : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>

// Where nothing comes, ops may read themselves.
// CHECK-LABEL: func @drops_blocks_that_nothing_reaches
// CHECK-NEXT:    return
// CHECK-NEXT:  }
func.func @drops_blocks_that_nothing_reaches(%x: !m1) -> !m1 attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  return %x : !m1
^bb1:
  %0 = mpmd.transfer %0 : (!m1) -> !m1
  return %0 : !m1
}
