// RUN: mpmd-opt %s -mpmd-infer-mesh-validate-src-set-not-empty=error-limit=2 -verify-diagnostics -split-input-file

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @reports_first_op_of_a_chain(%a: !m1, %b: !m2) -> !t attributes {topology = #topology} {
  %u = mpmd.unassign {mpmd.src_set = #mpmd.meshes_with_origins<"m1">, origin = "f"} %a : (!m1) -> !t
  %v = mpmd.unassign {mpmd.src_set = #mpmd.meshes_with_origins<"m2">, origin = "g"} %b : (!m2) -> !t
  // expected-error@+1 {{Mesh assignment is not possible for op as its operands are on conflicting meshes}}
  %0 = stablehlo.power %u, %v {mpmd.src_set = #mpmd.meshes_with_origins<>} : !t
  %1 = stablehlo.sine %0 {mpmd.src_set = #mpmd.meshes_with_origins<>} : !t
  return %1 : !t
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @stops_at_the_limit(%p: !t) attributes {topology = #topology} {
  // expected-error@+1 {{mpmd_infer_transfers}}
  %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<>} : !t
  // expected-error@+1 {{mpmd_infer_transfers}}
  %1 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<>} : !t
  %2 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<>} : !t
  return
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @reports_first_reduction_that_remains(%p: !t) attributes {topology = #topology} {
  // expected-error@+1 {{mpmd_infer_cross_mesh_reductions}}
  %0 = stablehlo.add %p, %p {mpmd.reduce = #mpmd.reduction<add>, mpmd.src_set = #mpmd.meshes_with_origins<"m1", "m2">} : !t
  %1 = stablehlo.add %0, %p {mpmd.reduce = #mpmd.reduction<add>, mpmd.src_set = #mpmd.meshes_with_origins<"m1", "m2">} : !t
  return
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// A branch runs on one mesh, whatever reductions may do.
func.func @advises_transfers_for_sums_in_branches(%i: tensor<i32>, %p: !t) attributes {topology = #topology} {
  %0 = "stablehlo.case"(%i) ({
    // expected-error@+1 {{mpmd_infer_transfers}}
    %1 = stablehlo.add %p, %p {mpmd.reduce = #mpmd.reduction<add>, mpmd.src_set = #mpmd.meshes_with_origins<>} : !t
    stablehlo.return %1 : !t
  }) : (tensor<i32>) -> !t
  return
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @caller(%a: !m1, %b: !m2) -> (!t, !t) attributes {topology = #topology} {
  %u = mpmd.unassign {mpmd.src_set = #mpmd.meshes_with_origins<"m1">} %a : (!m1) -> !t
  %v = mpmd.unassign {mpmd.src_set = #mpmd.meshes_with_origins<"m2">} %b : (!m2) -> !t
  %0 = mpmd.call @shardy_mpmd.f(%u) : (!t) -> !t
  %1 = mpmd.call @shardy_mpmd.f(%v) : (!t) -> !t
  return %0, %1 : !t, !t
}

// expected-error@+1 {{Mesh assignment is not possible for arg0 of mpmd.call ".f" as its caller operands are on conflicting meshes}}
func.func private @shardy_mpmd.f(%p: !t {mpmd.src_set = #mpmd.meshes_with_origins<>}) -> !t attributes {topology = #topology} {
  %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<>} : !t
  return %0 : !t
}
