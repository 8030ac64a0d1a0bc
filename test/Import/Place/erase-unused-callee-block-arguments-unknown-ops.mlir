// RUN: mpmd-opt %s -mpmd-erase-unused-callee-block-arguments -allow-unregistered-dialect | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// What else refers to a callee is unknown where an unknown op has a region.
// CHECK-LABEL: func @keeps_signatures_next_to_unknown_regions
// CHECK-NEXT:    mpmd.call @f(%{{.*}}) :
func.func @keeps_signatures_next_to_unknown_regions(%a: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.call @f(%a) : (!m) -> !m
  "test.region"() ({
    "test.done"() : () -> ()
  }) : () -> ()
  %1 = func.call @f(%0) : (!m) -> !m
  return %1 : !m
}

// CHECK: func private @f(%{{.*}}: !mpmd.mesh_tensor
func.func private @f(%a: !m) -> !m attributes {topology = #topology} {
  return %a : !m
}
