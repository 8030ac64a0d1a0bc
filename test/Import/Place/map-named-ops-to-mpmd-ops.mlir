// RUN: mpmd-opt %s -mpmd-map-named-ops-to-mpmd-ops='assignment={enc@p#device/2,act@q#pinned_host/3, dec@q,last@p,last@q,}' | FileCheck %s

!t = tensor<4xf32>
#topology = #mpmd.topology<<"p": <["d"=2]>>, <"q": <["d"=2]>>>

// CHECK-LABEL: func @maps_computation_and_tensor
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @maps_computation_and_tensor(%x: !t, %y: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: %[[AX:.*]] = mpmd.assign {origin = "enc"} %[[X]] : (tensor<4xf32>) -> !mpmd.mesh_tensor<"p", tensor<4xf32>>
  // CHECK-NEXT: %[[AY:.*]] = mpmd.assign {origin = "enc"} %[[Y]]
  // CHECK-NEXT: %[[F:.*]]:2 = mpmd.fragment<mesh="p", origin=["enc"(1)], stage=2> (%[[AX]], %[[AY]], %[[AX]])
  // CHECK-SAME:   (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   %[[P:.*]] = stablehlo.power %[[A]], %[[C]]
  // CHECK-NEXT:   mpmd.return %[[P]], %[[B]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[U0:.*]] = mpmd.unassign {origin = "enc"} %[[F]]#0
  // CHECK-NEXT: %[[U1:.*]] = mpmd.unassign {origin = "enc"} %[[F]]#1
  // CHECK-NEXT: %[[T:.*]] = mpmd.assign {origin = "act"} %[[U0]] : (tensor<4xf32>) -> !mpmd.mesh_tensor<"q", tensor<4xf32>, memory_kind="pinned_host">
  // CHECK-NEXT: %[[UT:.*]] = mpmd.unassign {origin = "act"} %[[T]]
  // CHECK-NEXT: return %[[UT]]
  %0:2 = mpmd.named_computation<"enc"(1)> (%x, %y, %x) {dropped} (%a: !t, %b: !t, %c: !t) {
    %2 = stablehlo.power %a, %c : !t
    mpmd.return %2, %b : !t, !t
  } : (!t, !t, !t) -> (!t, !t)
  %1 = mpmd.named_tensor %0#0 name="act" : !t
  return %1 : !t
}

// CHECK-LABEL: func @drops_tensor_without_entry
func.func @drops_tensor_without_entry(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: return %arg0
  %0 = mpmd.named_tensor %x name="unknown" : !t
  return %0 : !t
}

// CHECK-LABEL: func @omits_absent_stage_and_takes_last_entry
func.func @omits_absent_stage_and_takes_last_entry(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="q", origin=["dec"]> (
  // CHECK: mpmd.assign {origin = "last"} %{{.*}} -> !mpmd.mesh_tensor<"q",
  %0 = mpmd.named_computation<"dec"> (%x) (%a: !t) {
    %2 = stablehlo.negate %a : !t
    mpmd.return %2 : !t
  } : (!t) -> !t
  %1 = mpmd.named_tensor %0 name="last" : !t
  return %1 : !t
}

// CHECK-LABEL: func @leaves_plain_function_alone
func.func @leaves_plain_function_alone(%x: !t) -> !t {
  // CHECK-NEXT: mpmd.named_tensor
  %0 = mpmd.named_tensor %x name="act" : !t
  return %0 : !t
}
