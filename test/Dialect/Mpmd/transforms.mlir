// RUN: split-file %s %t
// RUN: mpmd-opt %t/cse.mlir -cse | FileCheck %t/cse.mlir
// RUN: mpmd-opt %t/symbol-dce.mlir -symbol-dce | FileCheck %t/symbol-dce.mlir
// RUN: mpmd-opt %t/inline.mlir -inline | FileCheck %t/inline.mlir
// RUN: mpmd-opt %t/licm.mlir -loop-invariant-code-motion | FileCheck %t/licm.mlir

//--- cse.mlir

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK-LABEL: func @merges_equal_fragments_and_transfers
func.func @merges_equal_fragments_and_transfers(%x: !m1) -> (!m2, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment
  // CHECK: %[[T:.*]] = mpmd.transfer %[[F]]
  // CHECK-NEXT: return %[[T]], %[[T]]
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {kept} (%a: tensor<4xf32>) {
    %n = stablehlo.negate %a : tensor<4xf32>
    mpmd.return %n : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {kept} (%a: tensor<4xf32>) {
    %n = stablehlo.negate %a : tensor<4xf32>
    mpmd.return %n : tensor<4xf32>
  } : (!m1) -> !m1
  %2 = mpmd.transfer %0 : (!m1) -> !m2
  %3 = mpmd.transfer %1 : (!m1) -> !m2
  return %2, %3 : !m2, !m2
}

// CHECK-LABEL: func @keeps_fragments_of_other_origin_or_attributes_apart
func.func @keeps_fragments_of_other_origin_or_attributes_apart(%x: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK-COUNT-3: mpmd.fragment
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%x) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  return %0, %1, %2 : !m1, !m1, !m1
}

// CHECK-LABEL: func @keeps_equal_calls
func.func @keeps_equal_calls(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-COUNT-2: mpmd.call @body
  %0 = mpmd.call @body(%x) : (!m1) -> !m1
  %1 = mpmd.call @body(%x) : (!m1) -> !m1
  return %0, %1 : !m1, !m1
}
func.func private @body(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
}

//--- symbol-dce.mlir

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.call @called(%x) : (!m1) -> !m1
  %1 = mpmd.fragment_call<mesh="m1", origin=[]> @program(%0) : (!m1) -> !m1
  return %1 : !m1
}
// CHECK: func private @called
func.func private @called(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
}
// CHECK: func private @program
func.func private @program(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<4xf32>
}
// CHECK-NOT: @unused
func.func private @unused(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
}

//--- inline.mlir

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func @inlines_bodies_made_of_the_dialect
func.func @inlines_bodies_made_of_the_dialect(%x: tensor<4xf32>) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.assign
  // CHECK-NEXT: mpmd.fragment<
  // CHECK: mpmd.fragment_call<mesh="m1", origin=[]> @program
  // CHECK-NEXT: return
  %0 = func.call @callee(%x) : (tensor<4xf32>) -> !m1
  return %0 : !m1
}
func.func private @callee(%x: tensor<4xf32>) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.assign %x : (tensor<4xf32>) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: tensor<4xf32>) {
    %n = stablehlo.negate %a : tensor<4xf32>
    mpmd.return %n : tensor<4xf32>
  } : (!m1) -> !m1
  %2 = mpmd.fragment_call<mesh="m1", origin=[]> @program(%1) : (!m1) -> !m1
  return %2 : !m1
}
func.func private @program(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func @inlines_into_bodies_of_the_dialect
func.func @inlines_into_bodies_of_the_dialect(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: mpmd.named_computation
  // CHECK-NEXT: stablehlo.negate
  // CHECK-NEXT: mpmd.return
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) {
    %1 = func.call @negate(%a) : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @negate(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func @leaves_mpmd_calls_alone
func.func @leaves_mpmd_calls_alone(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.call @body
  %0 = mpmd.call @body(%x) : (!m1) -> !m1
  return %0 : !m1
}
func.func private @body(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
}

//--- licm.mlir

// CHECK-LABEL: func @hoists_what_does_not_change
func.func @hoists_what_does_not_change(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate %arg1
  // CHECK-NEXT: mpmd.for
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
    %n = stablehlo.negate %y : tensor<4xf32>
    %s = stablehlo.add %a, %n : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// In a branch there may be no fragment.
// CHECK-LABEL: func @leaves_what_may_not_be_around_the_loop
// CHECK:         stablehlo.negate
// CHECK-NEXT:    mpmd.for
// CHECK-NEXT:      mpmd.fragment
func.func @leaves_what_may_not_be_around_the_loop(%x: tensor<4xf32>, %y: !mpmd.mesh_tensor<"m1", tensor<4xf32>>, %p: tensor<i32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  %0 = "stablehlo.case"(%p) ({
    %1 = mpmd.for (%x) {iterations = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
      %n = stablehlo.negate %x : tensor<4xf32>
      %f = mpmd.fragment<mesh="m1", origin=["f"]> (%y) (%b: tensor<4xf32>) {
        mpmd.return %b : tensor<4xf32>
      } : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
      %u = mpmd.unassign %f : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> tensor<4xf32>
      %s = stablehlo.add %n, %u : tensor<4xf32>
      mpmd.return %s : tensor<4xf32>
    } : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
