// RUN: mpmd-opt %s -split-input-file | FileCheck %s

// Names are printed as they are, but for what could not be read back.

!m = !mpmd.mesh_tensor<"a\22b", tensor<4xf32>>

// CHECK-LABEL: func @quotes_backslashes_and_control_characters_are_escaped
// CHECK-SAME:    !mpmd.mesh_tensor<"a\22b", tensor<4xf32>>
func.func @quotes_backslashes_and_control_characters_are_escaped(%x: !m) -> !m attributes {topology = #mpmd.topology<<"a\22b" : <["x"=1]>>>} {
  // CHECK: mpmd.fragment<mesh="a\22b", origin=["f\0Ag", "\\"(1)]>
  %0 = mpmd.fragment<mesh="a\22b", origin=["f\0Ag", "\\"(1)]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  // CHECK: mpmd.fragment_call<mesh="a\22b", origin=["f\22"]>
  %1 = mpmd.fragment_call<mesh="a\22b", origin=["f\22"]> @p(%0) : (!m) -> !m
  return %1 : !m
}
func.func private @p(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
  return %a : tensor<4xf32>
}

// -----

!n = !mpmd.mesh_tensor<"größe, {1} @/", tensor<4xf32>>

// CHECK-LABEL: func @other_characters_represent_themselves
// CHECK-SAME:    !mpmd.mesh_tensor<"größe, {1} @/", tensor<4xf32>>
func.func @other_characters_represent_themselves(%x: !n) -> !n attributes {topology = #mpmd.topology<<"größe, {1} @/" : <["x"=1]>>>} {
  // CHECK: mpmd.fragment<mesh="größe, {1} @/", origin=["é"]>
  %0 = mpmd.fragment<mesh="größe, {1} @/", origin=["é"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!n) -> !n
  return %0 : !n
}

// -----

// CHECK-LABEL: func @name_of_computation_is_not_printed
func.func @name_of_computation_is_not_printed(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: mpmd.named_computation<"f"> (%{{.*}}) {other = 1 : i32} (
  %0 = mpmd.named_computation<"f"> (%x) {name = "g", other = 1 : i32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
