// RUN: mpmd-opt %s -mpmd-split-barriers | FileCheck %s

!v = tensor<32xf32>
!v1 = !mpmd.mesh_tensor<"m1", !v>
!v2 = !mpmd.mesh_tensor<"m2", !v>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// What is on one mesh stays together, what could be anywhere is alone.

// CHECK-LABEL: func @gradients_and_state
func.func @gradients_and_state(%a: !v1, %b: !v2, %c: !v1, %m: !v, %n: !v) -> (!v, !v, !v, !v, !v) attributes {topology = #topology} {
  // CHECK:      %[[A:.*]] = mpmd.unassign %arg0
  // CHECK:      %[[B:.*]] = mpmd.unassign %arg1
  // CHECK:      %[[C:.*]] = mpmd.unassign %arg2
  // CHECK-NEXT: %[[AC:.*]]:2 = stablehlo.optimization_barrier %[[A]], %[[C]]
  // CHECK-NEXT: %[[B1:.*]] = stablehlo.optimization_barrier %[[B]]
  // CHECK-NEXT: %[[M:.*]] = stablehlo.optimization_barrier %arg3
  // CHECK-NEXT: %[[N:.*]] = stablehlo.optimization_barrier %arg4
  // CHECK-NEXT: return %[[AC]]#0, %[[B1]], %[[AC]]#1, %[[M]], %[[N]]
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %c0 = mpmd.unassign %c : (!v1) -> !v
  %r:5 = stablehlo.optimization_barrier %a0, %b0, %c0, %m, %n : !v, !v, !v, !v, !v
  return %r#0, %r#1, %r#2, %r#3, %r#4 : !v, !v, !v, !v, !v
}

// What may become a reduction across meshes is where its operand is.

// CHECK-LABEL: func @sums_that_may_be_across_meshes
func.func @sums_that_may_be_across_meshes(%a: !v1, %b: !v2) -> (!v, !v) attributes {topology = #topology} {
  // CHECK-DAG: %[[A:.*]] = mpmd.unassign %arg0
  // CHECK-DAG: %[[B:.*]] = mpmd.unassign %arg1
  // CHECK-DAG: %[[A1:.*]] = stablehlo.optimization_barrier %[[A]] :
  // CHECK-DAG: %[[B1:.*]] = stablehlo.optimization_barrier %[[B]] :
  // CHECK:     return %[[A1]], %[[B1]]
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %a1 = mpmd.reduce<none> %a0 : (!v) -> !v
  %b1 = mpmd.reduce<none> %b0 : (!v) -> !v
  %r:2 = stablehlo.optimization_barrier %a1, %b1 : !v, !v
  return %r#0, %r#1 : !v, !v
}

// Zeros that are divided by a number of "m2" could be anywhere.

// CHECK-LABEL: func @numbers_that_are_broadcast
func.func @numbers_that_are_broadcast(%a: !v1, %b: !v2, %n: !mpmd.mesh_tensor<"m2", tensor<f32>>) -> (!v, !v, !v) attributes {topology = #topology} {
  // CHECK:      %[[ALL:.*]] = stablehlo.broadcast_in_dim
  // CHECK-NEXT: stablehlo.optimization_barrier %{{[0-9]+}} :
  // CHECK-NEXT: stablehlo.optimization_barrier %{{[0-9]+}} :
  // CHECK-NEXT: stablehlo.optimization_barrier %[[ALL]] :
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v2) -> !v
  %n0 = mpmd.unassign %n : (!mpmd.mesh_tensor<"m2", tensor<f32>>) -> tensor<f32>
  %all = stablehlo.broadcast_in_dim %n0, dims = [] : (tensor<f32>) -> !v
  %r:3 = stablehlo.optimization_barrier %a0, %b0, %all : !v, !v, !v
  return %r#0, %r#1, %r#2 : !v, !v, !v
}

// CHECK-LABEL: func @of_no_mesh
func.func @of_no_mesh(%m: !v, %n: !v) -> (!v, !v) attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.optimization_barrier %arg0
  // CHECK-NEXT: stablehlo.optimization_barrier %arg1
  %r:2 = stablehlo.optimization_barrier %m, %n : !v, !v
  return %r#0, %r#1 : !v, !v
}

// CHECK-LABEL: func @one_mesh
func.func @one_mesh(%a: !v1, %b: !v1, %m: !v) -> (!v, !v, !v) attributes {topology = #topology} {
  // CHECK: stablehlo.optimization_barrier %{{.*}}, %{{.*}}, %arg2
  %a0 = mpmd.unassign %a : (!v1) -> !v
  %b0 = mpmd.unassign %b : (!v1) -> !v
  %r:3 = stablehlo.optimization_barrier %a0, %b0, %m : !v, !v, !v
  return %r#0, %r#1, %r#2 : !v, !v, !v
}
