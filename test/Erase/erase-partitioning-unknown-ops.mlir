// RUN: mpmd-opt %s -mpmd-erase-partitioning -allow-unregistered-dialect | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>

// What an op of an unknown dialect names is unknown, so that meshes stay.
// CHECK: sdy.mesh @grid
sdy.mesh @grid = <["x"=2]>

// CHECK-LABEL: func @keeps_meshes_next_to_unknown_regions
// CHECK-NEXT:    "test.region"
// CHECK-NEXT:      sdy.manual_computation(%{{.*}}) in_shardings=[<@grid, [{}]>]
func.func @keeps_meshes_next_to_unknown_regions(%a: !m) -> !m attributes {topology = #mpmd.topology<<"m": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %1 = "test.region"(%x) ({
      %2 = sdy.manual_computation(%x) in_shardings=[<@grid, [{}]>] out_shardings=[<@grid, [{}]>] manual_axes={} (%y: tensor<4xf32>) {
        sdy.return %y : tensor<4xf32>
      } : (tensor<4xf32>) -> tensor<4xf32>
      "test.yield"(%2) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
