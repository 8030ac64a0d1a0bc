// RUN: mpmd-opt %s | FileCheck %s

// CHECK-LABEL: func private @topologies
// CHECK-SAME: one = #mpmd.topology<<"m1" : <["x"=3]>>>
// CHECK-SAME: repeated = #mpmd.topology<<"m1" : <["x"=3]>>, <"m1" : <["y"=2]>>>
// CHECK-SAME: two = #mpmd.topology<<"m1" : <["x"=3]>>, <"m\222" : <["x"=3, "y"=1], device_ids=[2, 1, 0]>>>
func.func private @topologies() attributes {
  one = #mpmd.topology<<"m1":<["x"=3]>>>,
  repeated = #mpmd.topology<<"m1": <["x"=3]>>, <"m1": <["y"=2]>>>,
  two = #mpmd.topology<#mpmd.named_mesh<"m1": #sdy.mesh<["x"=3]>>, <"m\222" : <["x"=3, "y"=1], device_ids=[2, 1, 0]>>>}

// CHECK-LABEL: func private @named_mesh
// CHECK-SAME: a = #mpmd.named_mesh<"m1" : <[]>>
func.func private @named_mesh() attributes {a = #mpmd.named_mesh<"m1": <[]>>}

// CHECK-LABEL: func private @user_origin_prints_positive_counts_only
// CHECK-SAME: a = #mpmd.user_origin<"f">, b = #mpmd.user_origin<"f"(2)>, c = #mpmd.user_origin<"f">, d = #mpmd.user_origin<"f\22">
func.func private @user_origin_prints_positive_counts_only() attributes {
  a = #mpmd.user_origin<"f">, b = #mpmd.user_origin<"f"(2)>,
  c = #mpmd.user_origin<"f"(0)>, d = #mpmd.user_origin<"f\22"(-1)>}

// CHECK-LABEL: func private @meshes_with_origins
// CHECK-SAME: a = #mpmd.meshes_with_origins<"m1"["f", "g"], "m2">, b = #mpmd.meshes_with_origins<>, c = #mpmd.meshes_with_origins<"*">
func.func private @meshes_with_origins() attributes {
  a = #mpmd.meshes_with_origins<"m1"["f","g"],"m2">,
  b = #mpmd.meshes_with_origins<>, c = #mpmd.meshes_with_origins<"*">}

// CHECK-LABEL: func private @reductions
// CHECK-SAME: a = [#mpmd.reduction<none>, #mpmd.reduction<add>, #mpmd.reduction<max>, #mpmd.reduction<min>, #mpmd.reduction<mul>, #mpmd.reduction<or>, #mpmd.reduction<and>]
func.func private @reductions() attributes {
  a = [#mpmd.reduction<none>, #mpmd.reduction<add>, #mpmd.reduction<max>,
       #mpmd.reduction<min>, #mpmd.reduction<mul>, #mpmd.reduction<or>,
       #mpmd.reduction<and>]}
