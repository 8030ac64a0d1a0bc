// RUN: mpmd-opt %s -split-input-file -sdy-lift-inlined-meshes | FileCheck %s

// CHECK-LABEL: module @merges_equal_meshes
module @merges_equal_meshes {
  // CHECK-NEXT: sdy.mesh @first = <["r"=2, "c"=4]> {stablehlo.mesh = {axes = [{name = "r", size = 2 : i64}, {name = "c", size = 4 : i64}]}}
  // CHECK-NEXT: sdy.mesh @other = <["r"=2], device_ids=[1, 0]> {stablehlo.mesh = {axes = [{name = "r", size = 2 : i64}], device_ids = dense<[1, 0]> : tensor<2xi64>}}
  // CHECK-NEXT: func
  // CHECK-SAME: #sdy.sharding<@first, [{"c"}]>
  sdy.mesh @first = <["r"=2, "c"=4]>
  sdy.mesh @second = <["r"=2, "c"=4]>
  sdy.mesh @other = <["r"=2], device_ids=[1, 0]>
  func.func @f(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<@second, [{"c"}]>}) {
    return
  }
}

// -----

// CHECK-LABEL: module @refers_to_known_mesh
module @refers_to_known_mesh {
  // CHECK-NEXT: sdy.mesh @known = <["r"=2]>
  // CHECK-NEXT: func
  sdy.mesh @known = <["r"=2]>
  func.func @f(%x: tensor<12xf32>) {
    // CHECK-NEXT: sdy.sharding_constraint %{{.*}} <@known, [{"r"}]>
    %0 = sdy.sharding_constraint %x <mesh<["r"=2]>, [{"r"}]> : tensor<12xf32>
    return
  }
}

// -----

// CHECK-LABEL: module @names_new_meshes_after_the_last
module @names_new_meshes_after_the_last {
  // CHECK-NEXT: sdy.mesh @mesh = <["r"=2]>
  // CHECK-NEXT: sdy.mesh @mesh_0 = <["c"=4]>
  // CHECK-NEXT: sdy.mesh @mesh_1 = <["d"=4]>
  // CHECK-NEXT: sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
  // CHECK-NEXT: sdy.mesh @maximal_mesh_5 = <[], device_ids=[5]> {stablehlo.mesh = {axes = [], device_ids = dense<5> : tensor<1xi64>}}
  // CHECK-NEXT: func
  sdy.mesh @mesh = <["r"=2]>
  func.func @f(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<mesh<["c"=4]>, [{"c"}]>}) {
    // CHECK-NEXT: sdy.sharding_constraint %{{.*}} <@mesh_1, [{"d"}]>
    %0 = sdy.sharding_constraint %x <mesh<["d"=4]>, [{"d"}]> : tensor<12xf32>
    // CHECK-NEXT: sdy.sharding_constraint %{{.*}} <@empty_mesh, [{}]>
    %1 = sdy.sharding_constraint %x <mesh<[]>, [{}]> : tensor<12xf32>
    // CHECK-NEXT: return {sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_5, []>]>}
    return {sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[5]>, []>]>}
  }
}

// -----

// CHECK-LABEL: module @starts_with_new_mesh
module @starts_with_new_mesh {
  // CHECK-NEXT: sdy.mesh @mesh = <["c"=4]>
  // CHECK-NEXT: func
  func.func @f(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<mesh<["c"=4]>, [{"c"}]>}) {
    return
  }
}

// -----

// CHECK-LABEL: module @keeps_stablehlo_form
module @keeps_stablehlo_form {
  // CHECK-NEXT: sdy.mesh @m = <["c"=4]> {stablehlo.mesh = "mine"}
  sdy.mesh @m = <["c"=4]> {stablehlo.mesh = "mine"}
}

// -----

// CHECK-LABEL: module @replica_groups_refer_to_mesh
module @replica_groups_refer_to_mesh {
  // CHECK-NEXT: sdy.mesh @first = <["r"=2]>
  // CHECK-NEXT: sdy.mesh @mesh = <["c"=2], device_ids=[1, 0]>
  sdy.mesh @first = <["r"=2]>
  sdy.mesh @second = <["r"=2]>
  func.func @f(%x: tensor<6x2xf32>) {
    // CHECK: replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @first,
    %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @second, axes = [#stablehlo.axis_ref<name = "r">]>}> : (tensor<6x2xf32>) -> tensor<6x2xf32>
    // CHECK: replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh,
    %1 = "stablehlo.collective_broadcast"(%x) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [<name = "c", size = 2>], device_ids = dense<[1, 0]> : tensor<2xi64>>, axes = [#stablehlo.axis_ref<name = "c">]>}> : (tensor<6x2xf32>) -> tensor<6x2xf32>
    return
  }
}

// -----

// A module within a module knows its own meshes.
// CHECK-LABEL: module @leaves_inner_modules_alone
module @leaves_inner_modules_alone {
  // CHECK-NEXT: module @inner
  // CHECK:      #sdy.sharding<mesh<["x"=2]>, [{"x"}]>
  module @inner {
    func.func @f(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>}) {
      return
    }
  }
}

// -----

// CHECK-LABEL: module @keeps_meshes_that_types_name
module @keeps_meshes_that_types_name {
  // CHECK: sdy.mesh @first
  // CHECK: sdy.mesh @second
  sdy.mesh @first = <["r"=2]>
  sdy.mesh @second = <["r"=2]>
  func.func @f(%x: !mpmd.mesh_tensor<"m", tensor<8xf32>, sharding=<@second, [{"r"}]>>) attributes {topology = #mpmd.topology<<"m": <["r"=2]>>>} {
    return
  }
}
