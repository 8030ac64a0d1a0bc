// RUN: mpmd-opt %s -sdy-populate-op-sharding-rules | FileCheck %s

// CHECK-LABEL: func @unary
func.func @unary(%x: tensor<4x8xf32>) -> tensor<4x8xi1> {
  // CHECK: #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>
  %0 = stablehlo.is_finite %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  return %0 : tensor<4x8xi1>
}

// CHECK-LABEL: func @binary_with_dimension_of_size_one
func.func @binary_with_dimension_of_size_one(%x: tensor<4x1xf32>, %y: tensor<4x1xf32>) -> tensor<4x1xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=4, j=1}>
  %0 = stablehlo.add %x, %y : tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// CHECK-LABEL: func @scalars_have_no_factors
func.func @scalars_have_no_factors(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  // CHECK: #sdy.op_sharding_rule<([], [])->([])>
  %0 = stablehlo.add %x, %y : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func @select_by_scalar
func.func @select_by_scalar(%p: tensor<i1>, %x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([], [i, j], [i, j])->([i, j]) {i=4, j=8}>
  %0 = stablehlo.select %p, %x, %y : tensor<i1>, tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func @clamp_between_scalar_and_tensor
func.func @clamp_between_scalar_and_tensor(%lo: tensor<f32>, %x: tensor<4x8xf32>, %hi: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([], [i, j], [i, j])->([i, j]) {i=4, j=8}>
  %0 = stablehlo.clamp %lo, %x, %hi : (tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @sharding_constraint
func.func @sharding_constraint(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>
  %0 = sdy.sharding_constraint %x <@mesh, [{?}, {?}]> : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func @no_rule_for_dynamic_shape
func.func @no_rule_for_dynamic_shape(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: stablehlo.sine %{{.*}} : tensor<?x8xf32>
  %0 = stablehlo.sine %x : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

!pa = !mpmd.mesh_tensor<"pa", tensor<4x8xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<4x8xf32>>
!pc = !mpmd.mesh_tensor<"pc", tensor<4x8xf32>>
#topology = #mpmd.topology<<"pa" : <["x"=2]>>, <"pb" : <["x"=2]>>, <"pc" : <["x"=4]>>>

// CHECK-LABEL: func @transfer_between_equal_meshes
func.func @transfer_between_equal_meshes(%x: !pa) -> !pb attributes {topology = #topology} {
  // CHECK: #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>
  %0 = mpmd.transfer %x : (!pa) -> !pb
  return %0 : !pb
}

// CHECK-LABEL: func @no_rule_for_transfer_between_different_meshes
func.func @no_rule_for_transfer_between_different_meshes(%x: !pa) -> !pc attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer %{{.*}} :
  %0 = mpmd.transfer %x : (!pa) -> !pc
  return %0 : !pc
}
