// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @assign_c1_topology_is_missing(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}mesh "m1" cannot be looked up without a `topology` attribute on function @assign_c1_topology_is_missing, as in `topology = #mpmd.topology<<"m1": <["x"=2]>>>`}}
  %0 = mpmd.assign %x : (tensor<4xf32>) -> !m1
  return
}

// -----

!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @assign_c1_mesh_is_missing(%x: tensor<4xf32>) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}mesh "m2" is not in the topology of function @assign_c1_mesh_is_missing; known are m1; did you mean "m1"?}}
  %0 = mpmd.assign %x : (tensor<4xf32>) -> !m2
  return
}

// -----

!split = !mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}]>>
func.func @assign_c2_is_sharded(%x: tensor<4xf32>) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}mesh tensor must be fully replicated, but is '!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}]>>'}}
  %0 = mpmd.assign %x : (tensor<4xf32>) -> !split
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @assign_c3_types_differ(%x: tensor<2xf32>) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}tensor has type 'tensor<2xf32>' but the global tensor type of the mesh tensor is 'tensor<4xf32>'}}
  %0 = mpmd.assign %x : (tensor<2xf32>) -> !m1
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @assign_in_named_computation(%x: tensor<4xf32>) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) {
    // expected-error@+1 {{'mpmd.assign' op expects parent op to be one of 'func.func, mpmd.for'}}
    %0 = mpmd.assign %a : (tensor<4xf32>) -> !m1
    mpmd.return
  } : (tensor<4xf32>) -> ()
  return
}

// -----

!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @unassign_c1_mesh_is_missing(%x: !m2) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}mesh "m2" is not in the topology}}
  %0 = mpmd.unassign %x : (!m2) -> tensor<4xf32>
  return
}

// -----

!split = !mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}]>>
func.func @unassign_c2_is_sharded(%x: !split) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}mesh tensor must be fully replicated}}
  %0 = mpmd.unassign %x : (!split) -> tensor<4xf32>
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @unassign_c3_types_differ(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}tensor has type 'tensor<2xf32>' but the global tensor type of the mesh tensor is 'tensor<4xf32>'}}
  %0 = mpmd.unassign %x : (!m1) -> tensor<2xf32>
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @transfer_parent_is_a_function(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: !m1, %i: tensor<ui32>) {
    // expected-error@+1 {{'mpmd.transfer' op expects parent op 'func.func'}}
    %1 = mpmd.transfer %a : (!m1) -> !m1
    mpmd.return %1 : !m1
  } : !m1
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @transfer_c1_mesh_of_operand(%x: !m2) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}mesh "m2" is not in the topology}}
  %0 = mpmd.transfer %x : (!m2) -> !m1
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @transfer_c1_mesh_of_result(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}mesh "m2" is not in the topology}}
  %0 = mpmd.transfer %x : (!m1) -> !m2
  return
}

// -----

// The mesh is that of the topology, whatever the sharding names.
!split = !mpmd.mesh_tensor<"m1", tensor<3xf32>, sharding=<@mesh, [{"x"}]>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<3xf32>>
sdy.mesh @mesh = <["x"=3]>
func.func @transfer_c1_sharding_does_not_divide(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{'mpmd.transfer' op dim 0 with size 3 is not divisible by its sharded size 2}}
  %0 = mpmd.transfer %x : (!m1) -> !split
  return
}

// -----

!flat = !mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}, {}]>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @transfer_c1_rank_of_sharding(%x: !flat) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{'mpmd.transfer' op}}
  %0 = mpmd.transfer %x : (!flat) -> !m1
  return
}

// -----

// Dimensions are checked one after the other, each of them completely.
!odd = !mpmd.mesh_tensor<"m1", tensor<3x4xf32>, sharding=<@mesh, [{"x"}, {"x"}]>>
func.func @transfer_c1_first_dimension_decides(%x: !odd) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{'mpmd.transfer' op dim 0 with size 3 is not divisible by its sharded size 2}}
  %0 = mpmd.transfer %x : (!odd) -> !odd
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m1_small = !mpmd.mesh_tensor<"m1", tensor<2xf32>>
func.func @transfer_c2_global_types_differ(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}cannot transfer '!mpmd.mesh_tensor<"m1", tensor<4xf32>>' to '!mpmd.mesh_tensor<"m1", tensor<2xf32>>': operand and result must have the same global tensor type}}
  %0 = mpmd.transfer %x : (!m1) -> !m1_small
  return
}

// -----

!odd = !mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="disk">
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @transfer_c3_memory_kind_of_operand(%x: !odd) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}memory kind must be either "pinned_host" or "device", found "disk"}}
  %0 = mpmd.transfer %x : (!odd) -> !m1
  return
}

// -----

!odd = !mpmd.mesh_tensor<"m1", tensor<4xf32>, memory_kind="disk">
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @transfer_c3_memory_kind_of_result(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}memory kind must be either "pinned_host" or "device", found "disk"}}
  %0 = mpmd.transfer %x : (!m1) -> !odd
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @transfer_c4_from_argument_on_host(%x: !m1 {mhlo.memory_kind = "pinned_host"}) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}Transfers from host with attributes}}
  %0 = mpmd.transfer %x : (!m1) -> !m1
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @transfer_c4_from_result_on_host(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x) {res_attrs = [{mhlo.memory_kind = "device"}, {mhlo.memory_kind = "pinned_host"}]} (%a: tensor<4xf32>) {
    mpmd.return %a, %a : tensor<4xf32>, tensor<4xf32>
  } : (!m1) -> (!m1, !m1)
  %1 = mpmd.transfer %0#0 : (!m1) -> !m1
  // expected-error-re@+1 {{{{^}}Transfers from host with attributes}}
  %2 = mpmd.transfer %0#1 : (!m1) -> !m1
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @transfer_c4_to_host(%x: !m1 {mhlo.memory_kind = "device"}) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  %0 = mpmd.transfer {mhlo.memory_kind = "device"} %x : (!m1) -> !m1
  // expected-error-re@+1 {{{{^}}Transfers to host with attributes}}
  %1 = mpmd.transfer {mhlo.memory_kind = "pinned_host"} %x : (!m1) -> !m1
  return
}

// -----

func.func @broadcast_keeps_the_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires the same type for all operands and results}}
  %0 = "mpmd.broadcast"(%x) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @named_tensor_keeps_the_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires the same type for all operands and results}}
  %0 = "mpmd.named_tensor"(%x) <{name = "t"}> : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_needs_an_operand() {
  // expected-error@+1 {{'mpmd.reduce' op expected 1 or more operands}}
  %0 = "mpmd.reduce"() : () -> tensor<4xf32>
  return
}

// -----

func.func @reduce_has_one_type(%x: tensor<4xf32>, %y: tensor<2xf32>) {
  // expected-error@+1 {{'mpmd.reduce' op requires the same}}
  %0 = mpmd.reduce<add> %x, %y : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c1_none_takes_one_operand(%x: tensor<4xf32>) {
  // expected-error-re@+1 {{{{^}}reduction must have exactly one operand if its kind is none, but has 2}}
  %0 = mpmd.reduce<none> %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
