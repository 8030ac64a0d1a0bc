// RUN: mpmd-opt %s -split-input-file -sdy-lift-inlined-meshes -verify-diagnostics

func.func @more_equal_ids_than_memory_holds(%x: tensor<6x2xf32>) -> tensor<6x2xf32> {
  // expected-error@+1 {{replica_groups sorted device ids must be 0 to 1}}
  %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [<name = "c", size = 2>], device_ids = dense<1> : tensor<4611686018427387904xi64>>, axes = [#stablehlo.axis_ref<name = "c">]>}> : (tensor<6x2xf32>) -> tensor<6x2xf32>
  return %0 : tensor<6x2xf32>
}

// -----

func.func @ids_beyond_all_numbers(%x: tensor<6x2xf32>) -> tensor<6x2xf32> {
  // expected-error@+1 {{replica_groups}}
  %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [<name = "c", size = 2>], device_ids = dense<[0, 36893488147419103232]> : tensor<2xi128>>, axes = [#stablehlo.axis_ref<name = "c">]>}> : (tensor<6x2xf32>) -> tensor<6x2xf32>
  return %0 : tensor<6x2xf32>
}
