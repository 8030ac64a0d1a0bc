// RUN: mpmd-opt %s -allow-unregistered-dialect -mpmd-sharding-propagation-pipeline 2>/dev/null | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>
sdy.mesh @g = <["x"=2]>

// CHECK-LABEL: func @keeps_ops_that_no_dialect_knows
// CHECK-SAME:    -> !mpmd.mesh_tensor<"m", tensor<4xf32>> attributes
func.func @keeps_ops_that_no_dialect_knows(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}]>}) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: "other.begin"()
  "other.begin"() : () -> ()
  // CHECK-NEXT: mpmd.fragment
  // CHECK-NEXT:   "other.compute"
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %1 = "other.compute"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
