// RUN: mpmd-opt %s | FileCheck %s

// CHECK: func private @plain(!mpmd.mesh_tensor<"m1", tensor<4x?xf32>>)
func.func private @plain(!mpmd.mesh_tensor<"m1" , tensor<4x?xf32> >)

// CHECK: func private @sharded(!mpmd.mesh_tensor<"m1", tensor<4x8xf32>, sharding=<@mesh, [{"x"}, {?}]>>)
func.func private @sharded(!mpmd.mesh_tensor<"m1", tensor<4x8xf32>, sharding = <@mesh, [{"x"}, {?}]>>)

// CHECK: func private @on_host(!mpmd.mesh_tensor<"m1", tensor<f32>, memory_kind="pinned_host">)
func.func private @on_host(!mpmd.mesh_tensor<"m1", tensor<f32>, memory_kind = "pinned_host">)

// CHECK: func private @both(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{}]>, memory_kind="any word">)
func.func private @both(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{}]>, memory_kind="any word">)

// CHECK: func private @inlined_mesh(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<mesh<["x"=2]>, [{"x"}]>>)
func.func private @inlined_mesh(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<mesh<["x"=2]>, [{"x"}]>>)

#alias = #sdy.sharding<@mesh, [{"x"}]>
// CHECK: func private @sharding_by_alias(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}]>>)
func.func private @sharding_by_alias(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=#alias>)

// CHECK: func private @sharding_written_whole(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}]>, memory_kind="device">)
func.func private @sharding_written_whole(!mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=#sdy.sharding<@mesh, [{"x"}]>, memory_kind="device">)

// Signatures are not checked against a topology.
// CHECK: func private @unknown_mesh(!mpmd.mesh_tensor<"none", tensor<4xf32>>) attributes {topology = #mpmd.topology<<"m1" : <["x"=2]>>>}
func.func private @unknown_mesh(!mpmd.mesh_tensor<"none", tensor<4xf32>>) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>}
