// RUN: mpmd-opt %s -mpmd-infer-mesh-validate-no-additional-transfers-needed=error-limit=4 -verify-diagnostics -split-input-file

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
#m1 = #mpmd.meshes_with_origins<"m1">
#m2 = #mpmd.meshes_with_origins<"m2">

func.func @reports_last_op_and_the_assign_after_it(%p: !t {mpmd.src_set = #m2, mpmd.use_set = #m1}) -> !m1 attributes {topology = #topology} {
  %0 = stablehlo.sine %p {mpmd.src_set = #m2, mpmd.use_set = #m1} : !t
  // expected-error@+1 {{Mesh assignment is not possible for op as it is used in {m1} but it can only be placed on {m2}}}
  %1 = stablehlo.sine %0 {mpmd.src_set = #m2, mpmd.use_set = #m1} : !t
  // expected-error@+1 {{mpmd_infer_transfers}}
  %2 = mpmd.assign {mpmd.src_set = #m2, mpmd.use_set = #m1} %1 : (!t) -> !m1
  return %2 : !m1
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
#m1 = #mpmd.meshes_with_origins<"m2", "m1">
#m2 = #mpmd.meshes_with_origins<"m2">

func.func @failure_in_callee_suppresses_that_in_caller(%p: !t {mpmd.src_set = #m2}) attributes {topology = #topology} {
  %0 = stablehlo.sine %p {mpmd.src_set = #m2, mpmd.use_set = #m1} : !t
  %1 = mpmd.call @f(%0) : (!t) -> !t
  return
}

// expected-error@+1 {{Mesh assignment is not possible for arg0 of mpmd.call "f" as it is used in {m2,m1} but it can only be placed on {m2}}}
func.func private @f(%p: !t {mpmd.src_set = #m2, mpmd.use_set = #m1}) -> !t attributes {topology = #topology} {
  return %p : !t
}

// -----

!t = tensor<4xf32>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

func.func @calls_a_chain(%p: !t) -> !m2 attributes {topology = #topology} {
  %0 = mpmd.call @f(%p) : (!t) -> !t
  %1 = mpmd.call @f(%0) : (!t) -> !t
  %2 = mpmd.assign %1 : (!t) -> !m2
  return %2 : !m2
}

// expected-error@+1 {{passes result 0 to arg 0 of another, with mismatching mesh assignments: res: {m2[g], m1[]}, arg: {m1[f,h]}}}
func.func private @f(%p: !t {mpmd.use_set = #mpmd.meshes_with_origins<"m1"["f", "h"]>}) -> (!t {mpmd.use_set = #mpmd.meshes_with_origins<"m2"["g"], "m1">}) attributes {topology = #topology} {
  %0 = mpmd.broadcast %p : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
#m1 = #mpmd.meshes_with_origins<"m1">
#m2 = #mpmd.meshes_with_origins<"m2">
#both = #mpmd.meshes_with_origins<"m2", "m1">

// The branch is repeated on both meshes, and so is what has no effects.
func.func @effect_is_needed_on_two_meshes(%i: tensor<i32>) -> (!m1, !m2) attributes {topology = #topology} {
  %0 = stablehlo.custom_call @no_effects() {mpmd.use_set = #both} : () -> !t
  // expected-error@+1 {{Mesh assignment is not possible for op as it is used in {m2,m1} but it can only be placed on one mesh, because it has effects, which must happen once.}}
  %1 = "stablehlo.case"(%i) ({
    // expected-note@+1 {{this inside it has effects}}
    %5 = stablehlo.custom_call @launch(%0) {has_side_effect = true} : (!t) -> !t
    stablehlo.return %5 : !t
  }) {mpmd.use_set = #both} : (tensor<i32>) -> !t
  %2 = stablehlo.negate %1 {mpmd.use_set = #both} : !t
  %3 = mpmd.assign {mpmd.use_set = #m1} %2 : (!t) -> !m1
  %4 = mpmd.assign {mpmd.use_set = #m2} %2 : (!t) -> !m2
  return %3, %4 : !m1, !m2
}
