// RUN: mpmd-opt %s -mpmd-generate-sdy-meshes-from-topology -split-input-file | FileCheck %s

// CHECK:      module
// CHECK-NEXT: sdy.mesh @empty_mesh = <[]>
// CHECK-NEXT: sdy.mesh @gpu = <["gpu_r"=2]>
// CHECK-NEXT: sdy.mesh @host = <["host_q"=4]>
// CHECK-NEXT: func.func @retargets_shardings
// CHECK-SAME:   sdy.sharding = #sdy.sharding<@gpu, [{"gpu_r"}, {?}]>
// CHECK-SAME:   sdy.sharding = #sdy.sharding<@empty_mesh, [{?}]>
// CHECK-SAME:   -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@host, [{"host_q":(1)2}, {}], replicated={"host_q":(2)2}>})
// CHECK-SAME:   topology = #mpmd.topology<<"gpu" : <["gpu_r"=2]>>, <"host" : <["host_q"=4]>>, <"empty_mesh" : <[]>>>
sdy.mesh @whole = <["gpu_r"=2, "host_q"=4]>
func.func @retargets_shardings(
    %a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@whole, [{"gpu_r"}, {?}]>},
    %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@whole, [{?}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@whole, [{"host_q":(1)2}, {}], replicated={"host_q":(2)2}>})
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>, <"host": <["host_q"=4]>>>} {
  // CHECK-NEXT: stablehlo.negate %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@gpu, [{"gpu_r"}, {}]>]>}
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@whole, [{"gpu_r"}, {}]>]>} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// CHECK:      module
// CHECK-NEXT: sdy.mesh @gpu = <["gpu_r"=2]>
// CHECK-NEXT: sdy.mesh @nothing = <[]>
// CHECK-NEXT: sdy.mesh @device = <[], device_ids=[0]>
// CHECK-NEXT: func.func @keeps_empty_and_maximal_meshes
// CHECK-SAME:   #sdy.sharding<@nothing, [{}]>
// CHECK-SAME:   #sdy.sharding<@device, []>
// CHECK-SAME:   topology = #mpmd.topology<<"gpu" : <["gpu_r"=2]>>>
sdy.mesh @nothing = <[]>
sdy.mesh @whole = <["gpu_r"=2]>
sdy.mesh @device = <[], device_ids=[0]>
func.func @keeps_empty_and_maximal_meshes(
    %a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@nothing, [{}]>},
    %b: tensor<f32> {sdy.sharding = #sdy.sharding<@device, []>}) -> tensor<8xf32>
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>>} {
  return %a : tensor<8xf32>
}

// -----

// CHECK:      module
// CHECK-NEXT: sdy.mesh @gpu = <["gpu_r"=2]>
// CHECK-NEXT: sdy.mesh @empty_mesh = <[]>
// CHECK-NEXT: func.func @reuses_empty_mesh
// CHECK-SAME:   #sdy.sharding<@empty_mesh, [{}]>
// CHECK-SAME:   topology = #mpmd.topology<<"gpu" : <["gpu_r"=2]>>>
sdy.mesh @empty_mesh = <[]>
sdy.mesh @whole = <["gpu_r"=3]>
func.func @reuses_empty_mesh(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@whole, [{}]>}) -> tensor<8xf32>
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>>} {
  return %a : tensor<8xf32>
}

// -----

// CHECK:      module
// CHECK-NEXT: sdy.mesh @gpu = <["gpu_r"=2]>
// CHECK-NEXT: sdy.mesh @host = <["host_q"=4]>
// CHECK-NEXT: func.func @adds_meshes_where_there_are_none
func.func @adds_meshes_where_there_are_none(%a: tensor<8xf32>) -> tensor<8xf32>
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>, <"host": <["host_q"=4]>>>} {
  return %a : tensor<8xf32>
}

// -----

// CHECK:      sdy.mesh @gpu = <["gpu_r"=2]>
// CHECK-NEXT: func.func @leaves_types_alone(%arg0: !mpmd.mesh_tensor<"gpu", tensor<8xf32>, sharding=<@whole, [{"gpu_r"}]>>)
func.func @leaves_types_alone(%a: !mpmd.mesh_tensor<"gpu", tensor<8xf32>, sharding=<@whole, [{"gpu_r"}]>>)
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>>} {
  return
}

// -----

// CHECK:      module
// CHECK-NEXT: sdy.mesh @gpu = <["gpu_r"=2]>
// CHECK-NEXT: func.func @takes_the_first_of_two_meshes
func.func @takes_the_first_of_two_meshes(%a: tensor<8xf32>)
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>, <"gpu": <["gpu_q"=4]>>>} {
  return
}
