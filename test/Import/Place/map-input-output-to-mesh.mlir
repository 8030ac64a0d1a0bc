// RUN: mpmd-opt %s -mpmd-map-input-output-to-mesh='input-assignment=1@q,0@p#device output-assignment=0@p#pinned_host,1@q' | FileCheck %s

!t = tensor<7xf32>
#topology = #mpmd.topology<<"p": <["d"=7]>>, <"q": <["d"=7]>>>

// CHECK-LABEL: func @unassigns_inputs_and_assigns_outputs
// CHECK-SAME:    %[[X:[a-z0-9]*]]: !mpmd.mesh_tensor<"p", tensor<7xf32>, memory_kind="device">,
// CHECK-SAME:    %[[Y:[a-z0-9]*]]: !mpmd.mesh_tensor<"q", tensor<7xf32>>,
// CHECK-SAME:    %[[Z:[a-z0-9]*]]: tensor<7xf32>)
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"p", tensor<7xf32>, memory_kind="pinned_host">, !mpmd.mesh_tensor<"q", tensor<7xf32>>, tensor<7xf32>)
func.func @unassigns_inputs_and_assigns_outputs(%x: !t, %y: !t, %z: !t) -> (!t, !t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[UX:.*]] = mpmd.unassign {origin = "user_in"} %[[X]]
  // CHECK-NEXT: %[[UY:.*]] = mpmd.unassign {origin = "user_in"} %[[Y]]
  // CHECK-NEXT: %[[S:.*]] = stablehlo.subtract %[[UX]], %[[UY]]
  // CHECK-NEXT: %[[A0:.*]] = mpmd.assign {origin = "user_out"} %[[S]] : (tensor<7xf32>) -> !mpmd.mesh_tensor<"p", tensor<7xf32>, memory_kind="pinned_host">
  // CHECK-NEXT: %[[A1:.*]] = mpmd.assign {origin = "user_out"} %[[S]] : (tensor<7xf32>) -> !mpmd.mesh_tensor<"q", tensor<7xf32>>
  // CHECK-NEXT: return %[[A0]], %[[A1]], %[[Z]]
  %0 = stablehlo.subtract %x, %y : !t
  return %0, %0, %z : !t, !t, !t
}

// CHECK-LABEL: func @drops_memory_kind_attribute_where_type_has_one
// CHECK-SAME:    memory_kind="device"> {test.kept}
// CHECK-SAME:    "q", tensor<7xf32>> {mhlo.memory_kind = "device"}
// CHECK-SAME:    -> (!mpmd.mesh_tensor<"p", tensor<7xf32>, memory_kind="pinned_host"> {jax.result_info = "r"},
// CHECK-SAME:    !mpmd.mesh_tensor<"q", tensor<7xf32>>,
// CHECK-SAME:    tensor<7xf32> {mhlo.memory_kind = "pinned_host"})
func.func @drops_memory_kind_attribute_where_type_has_one(
    %x: !t {test.kept, mhlo.memory_kind = "pinned_host"}, %y: !t {mhlo.memory_kind = "device"})
    -> (!t {jax.result_info = "r", mhlo.memory_kind = "pinned_host"}, !t, !t {mhlo.memory_kind = "pinned_host"})
    attributes {topology = #topology} {
  return %x, %x, %y : !t, !t, !t
}

// CHECK-LABEL: func @assigns_argument_that_is_returned
func.func @assigns_argument_that_is_returned(%x: !t, %y: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[UX:.*]] = mpmd.unassign {origin = "user_in"}
  // CHECK-NEXT: %[[UY:.*]] = mpmd.unassign {origin = "user_in"}
  // CHECK-NEXT: mpmd.assign {origin = "user_out"} %[[UY]]
  // CHECK-NEXT: mpmd.assign {origin = "user_out"} %[[UX]]
  return %y, %x : !t, !t
}

// CHECK-LABEL: func private @leaves_private_function_alone
func.func private @leaves_private_function_alone(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: return
  return %x : !t
}

// CHECK-LABEL: func @leaves_plain_function_alone
func.func @leaves_plain_function_alone(%x: !t) -> !t {
  // CHECK-NEXT: return
  return %x : !t
}

// CHECK-LABEL: func @leaves_function_that_ends_otherwise_alone
func.func @leaves_function_that_ends_otherwise_alone(%x: !t, %y: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.return
  mpmd.return
}

// CHECK-LABEL: func @leaves_functions_of_two_blocks_alone
// CHECK-NOT:     mpmd.assign
func.func @leaves_functions_of_two_blocks_alone(%x: !t, %y: !t) -> (!t, !t) attributes {topology = #topology} {
  return %x, %y : !t, !t
^bb1:
  return %y, %x : !t, !t
}
