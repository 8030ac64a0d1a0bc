// RUN: mpmd-opt %s -mpmd-infer-mesh-validate-no-additional-transfers-needed | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
#m1 = #mpmd.meshes_with_origins<"m1"["f"]>
#both = #mpmd.meshes_with_origins<"m2", "m1">

// CHECK-LABEL: func @accepts_uses_within_sources
func.func @accepts_uses_within_sources(%p: !t {mpmd.src_set = #both, mpmd.use_set = #m1}) -> !m1 attributes {topology = #topology} {
  // CHECK-NOT: visited_failure
  %0 = stablehlo.sine %p {mpmd.src_set = #both, mpmd.use_set = #m1} : !t
  %1 = stablehlo.sine %0 {mpmd.use_set = #both} : !t
  %2 = stablehlo.sine %1 {mpmd.src_set = #m1} : !t
  %3 = mpmd.assign {mpmd.src_set = #both, mpmd.use_set = #m1} %2 : (!t) -> !m1
  return %3 : !m1
}
