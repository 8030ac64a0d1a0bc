// RUN: mpmd-opt %s -mpmd-map-named-ops-to-mpmd-ops='assignment={"a@b, 1"@m1/cpu,c@m1/cpu/2}' | FileCheck %s

// CHECK-LABEL: func @names_in_quotes_and_cpu_meshes_are_found
func.func @names_in_quotes_and_cpu_meshes_are_found(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {topology = #mpmd.topology<<"m1/cpu" : <["x"=1]>>>} {
  // CHECK: mpmd.fragment<mesh="m1/cpu", origin=["a@b, 1"]>
  %0 = mpmd.named_computation<"a@b, 1"> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mpmd.fragment<mesh="m1/cpu", origin=["c"], stage=2>
  %1 = mpmd.named_computation<"c"> (%0) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
