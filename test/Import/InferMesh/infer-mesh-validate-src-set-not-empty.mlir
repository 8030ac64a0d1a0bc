// RUN: mpmd-opt %s -mpmd-infer-mesh-validate-src-set-not-empty | FileCheck %s

!t = tensor<4xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @accepts_ops_with_meshes_or_without_set
func.func @accepts_ops_with_meshes_or_without_set(%p: !t {mpmd.src_set = #mpmd.meshes_with_origins<"m1">}) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: stablehlo.sine %{{.*}} {mpmd.src_set = #mpmd.meshes_with_origins<"m1">}
  // CHECK-NEXT: stablehlo.sine %{{.*}} : tensor<4xf32>
  %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<"m1">} : !t
  %1 = stablehlo.sine %0 : !t
  return %1 : !t
}

// CHECK-LABEL: func @without_topology_is_not_looked_at
func.func @without_topology_is_not_looked_at(%p: !t) -> !t {
  %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<>} : !t
  return %0 : !t
}
