// RUN: mpmd-opt %s -mpmd-copy-topology-from-main -split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @keeps_visibility_of_caller
// CHECK-SAME:    topology = #mpmd.topology<<"p" : <["d"=2]>>>
func.func public @keeps_visibility_of_caller(%x: tensor<6xf32>) -> tensor<6xf32>
    attributes {topology = #mpmd.topology<<"p": <["d"=2]>>>} {
  %0 = mpmd.call @gets_topology(%x) : (tensor<6xf32>) -> tensor<6xf32>
  %1 = func.call @leaves_target_of_func_call_alone(%0) : (tensor<6xf32>) -> tensor<6xf32>
  %2 = mpmd.call @replaces_other_topology(%1) : (tensor<6xf32>) -> tensor<6xf32>
  return %2 : tensor<6xf32>
}

// CHECK-LABEL: func.func private @gets_topology
// CHECK-SAME:    attributes {topology = #mpmd.topology<<"p" : <["d"=2]>>>}
func.func @gets_topology(%x: tensor<6xf32>) -> tensor<6xf32> {
  return %x : tensor<6xf32>
}

// CHECK-LABEL: func.func private @replaces_other_topology
// CHECK-SAME:    attributes {topology = #mpmd.topology<<"p" : <["d"=2]>>>}
func.func private @replaces_other_topology(%x: tensor<6xf32>) -> tensor<6xf32>
    attributes {topology = #mpmd.topology<<"q": <["d"=1]>>>} {
  return %x : tensor<6xf32>
}

// CHECK-LABEL: func.func @leaves_target_of_func_call_alone
// CHECK-NOT:     topology
func.func @leaves_target_of_func_call_alone(%x: tensor<6xf32>) -> tensor<6xf32> {
  return %x : tensor<6xf32>
}

// CHECK-LABEL: func.func @leaves_uncalled_function_alone
// CHECK-NOT:     topology
func.func @leaves_uncalled_function_alone(%x: tensor<6xf32>) -> tensor<6xf32> {
  return %x : tensor<6xf32>
}

// -----

// CHECK-LABEL: func.func @finds_call_in_loop
  // CHECK: mpmd.call @body
func.func @finds_call_in_loop(%x: tensor<6xf32>) -> tensor<6xf32>
    attributes {topology = #mpmd.topology<<"p": <["d"=2]>>>} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%y: tensor<6xf32>, %index: tensor<ui32>) {
    %1 = mpmd.call @body(%y) : (tensor<6xf32>) -> tensor<6xf32>
    mpmd.return %1 : tensor<6xf32>
  } : tensor<6xf32>
  return %0 : tensor<6xf32>
}

// CHECK-LABEL: func.func private @body
// CHECK-SAME:    topology
func.func @body(%x: tensor<6xf32>) -> tensor<6xf32> {
  return %x : tensor<6xf32>
}

// -----

!t = tensor<8xf32>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func.func public @leaves_names_of_other_modules_alone
func.func public @leaves_names_of_other_modules_alone(%x: !t) -> !t attributes {topology = #topology} {
  builtin.module {
    func.func private @f(%y: !t) -> !t {
      return %y : !t
    }
    func.func public @g(%y: !t) -> !t attributes {topology = #topology} {
      %0 = mpmd.call @f(%y) : (!t) -> !t
      return %0 : !t
    }
  }
  return %x : !t
}
// CHECK: func.func public @f(%{{.*}}: tensor<8xf32>) -> tensor<8xf32> {
func.func public @f(%x: !t) -> !t {
  return %x : !t
}
