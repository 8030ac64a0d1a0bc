// RUN: mpmd-opt %s -mpmd-import-pipeline='name-to-mesh-assignment=f@gpu enable-heterogeneous-meshes' | FileCheck %s

// CHECK: sdy.mesh @empty_mesh = <[]>
// CHECK: sdy.mesh @gpu = <["gpu_r"=2]>
// CHECK: sdy.mesh @host = <["host_q"=4]>
sdy.mesh @whole = <["gpu_r"=2, "host_q"=4]>
// CHECK-LABEL: func @keeps_sharding_beside_mesh_tensor
// CHECK-SAME:    !mpmd.mesh_tensor<"gpu", tensor<8xf32>> {sdy.sharding = #sdy.sharding<@gpu, [{"gpu_r"}]>}
// CHECK-SAME:    !mpmd.mesh_tensor<"gpu", tensor<8xf32>> {sdy.sharding = #sdy.sharding<@empty_mesh, [{?}]>}
func.func @keeps_sharding_beside_mesh_tensor(
    %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@whole, [{"gpu_r"}]>},
    %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@whole, [{?}]>}) -> tensor<8xf32>
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>, <"host": <["host_q"=4]>>>} {
  %0 = mpmd.named_computation<"f"> (%x, %y) (%a: tensor<8xf32>, %b: tensor<8xf32>) {
    %1 = stablehlo.add %a, %b : tensor<8xf32>
    mpmd.return %1 : tensor<8xf32>
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
