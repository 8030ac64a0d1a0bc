// RUN: mpmd-opt %s -mpmd-infer-mesh-rewrite-using-analysis -verify-diagnostics -split-input-file

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func private @reports_plain_call_of_itself(%p: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  // expected-error@+1 {{names the MPMD function @reports_plain_call_of_itself, whose values get meshes; expected an mpmd.call in a function with topology, or a function without one}}
  %0 = func.call @reports_plain_call_of_itself(%p) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_barrier_that_reads_loop(%p: tensor<4xf32>) attributes {topology = #topology} {
  %0 = mpmd.for (%p) {iterations = 4 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
    mpmd.return %a : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error@+1 {{reads result 0 of a loop, which has no mesh; run mesh inference from its first pass}}
  %1 = mpmd.broadcast %0 : tensor<4xf32>
  return
}

// -----

func.func @reports_call_of_function_on_another_mesh(%p: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{calls @callee on mesh "m3", which is not in the topology of @reports_call_of_function_on_another_mesh; run mpmd-copy-topology-from-main first}}
  %0 = mpmd.call @callee(%p) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @callee(%p: tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"m3">}) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m3": <["x"=2]>>>} {
  return %p : tensor<4xf32>
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_set_of_unknown_mesh(%p: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  %0 = mpmd.call @callee(%p) : (tensor<4xf32>) -> tensor<4xf32>
  return %p : tensor<4xf32>
}
func.func private @callee(%p: tensor<4xf32>) -> (tensor<4xf32> {mpmd.use_set = #mpmd.meshes_with_origins<"m6">}) attributes {topology = #topology} {
  // expected-error@+1 {{mesh "m6" is not in the topology of function @callee}}
  %0 = stablehlo.sine %p : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @reports_call_in_branch(%p: !t, %i: tensor<i32>) -> !t attributes {topology = #topology} {
  %0 = "stablehlo.case"(%i) ({
    %1 = mpmd.for (%p) {iterations = 2 : ui32} (%q: !t, %index: tensor<ui32>) {
      // expected-error@+1 {{calls @f inside a `stablehlo.case`, which runs on one mesh; expected an mpmd.call in a function or in a loop of it}}
      %2 = mpmd.call @f(%q) : (!t) -> !t
      mpmd.return %2 : !t
    } : !t
    stablehlo.return %1 : !t
  }) : (tensor<i32>) -> !t
  return %0 : !t
}
func.func private @f(%p: !t) -> !t attributes {topology = #topology} {
  return %p : !t
}
