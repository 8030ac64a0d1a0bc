// RUN: mpmd-opt %s -mpmd-delay-inferred-fragments | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

// CHECK-LABEL: func @two_before_one_reader_change_places
// CHECK-NEXT:    %[[G:.*]] = mpmd.fragment<mesh="m", origin=["g"]>
// CHECK:         %[[ADD:.*]] = mpmd.fragment<mesh="m", origin=[]>
// CHECK-NEXT:      stablehlo.add
// CHECK:         %[[MUL:.*]] = mpmd.fragment<mesh="m", origin=[]>
// CHECK-NEXT:      stablehlo.multiply
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]> (%[[MUL]], %[[ADD]])
func.func @two_before_one_reader_change_places(%a: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=[]> (%a) (%x: tensor<4xf32>) {
    %s = stablehlo.multiply %x, %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=[]> (%a) (%x: tensor<4xf32>) {
    %s = stablehlo.add %x, %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["f"]> (%0, %1) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    mpmd.return %y : tensor<4xf32>
  } : (!m, !m) -> !m
  return %2, %3 : !m, !m
}

// The producer follows its reader, which has moved already.
// CHECK-LABEL: func @chain_moves_together
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["g"]>
// CHECK:         mpmd.fragment<mesh="m", origin=[]>
// CHECK-NEXT:      stablehlo.multiply
// CHECK:         mpmd.fragment<mesh="m", origin=[]>
// CHECK-NEXT:      stablehlo.add
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]>
func.func @chain_moves_together(%a: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=[]> (%a) (%x: tensor<4xf32>) {
    %s = stablehlo.multiply %x, %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=[]> (%0) (%x: tensor<4xf32>) {
    %s = stablehlo.add %x, %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["f"]> (%0, %1) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    mpmd.return %y : tensor<4xf32>
  } : (!m, !m) -> !m
  return %2, %3 : !m, !m
}

// CHECK-LABEL: func @first_of_several_readers_counts
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["g"]>
// CHECK:         %[[I:.*]] = mpmd.fragment<mesh="m", origin=[]>
// CHECK:         %[[T:.*]] = mpmd.transfer %[[I]]
// CHECK-NEXT:    %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"]> (%[[I]])
// CHECK:         return %{{.*}}, %[[T]], %[[F]], %[[I]]
func.func @first_of_several_readers_counts(%a: !m) -> (!m, !n, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=[]> (%a) (%x: tensor<4xf32>) {
    %s = stablehlo.multiply %x, %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %2 = mpmd.transfer %0 : (!m) -> !n
  %3 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %1, %2, %3, %0 : !m, !n, !m, !m
}

// CHECK-LABEL: func @op_with_reader_in_its_region_counts
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["g"]>
// CHECK:         mpmd.fragment<mesh="m", origin=[]>
// CHECK:         mpmd.for
func.func @op_with_reader_in_its_region_counts(%a: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=[]> (%a) (%x: tensor<4xf32>) {
    %s = stablehlo.multiply %x, %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %2 = mpmd.for (%a) {iterations = 2 : ui32} (%i: !m, %n: tensor<ui32>) {
    mpmd.return %0 : !m
  } : !m
  return %1, %2 : !m, !m
}

// CHECK-LABEL: func @leaves_unread_and_user_fragments_alone
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=[]>
// CHECK:         mpmd.fragment<mesh="m", origin=["u"]>
// CHECK:         mpmd.fragment<mesh="m", origin=["g"]>
func.func @leaves_unread_and_user_fragments_alone(%a: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=[]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["u"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %2, %1 : !m, !m
}

// CHECK-LABEL: func private @leaves_other_than_entry_points_alone
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=[]>
// CHECK:         mpmd.fragment<mesh="m", origin=["g"]>
func.func private @leaves_other_than_entry_points_alone(%a: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=[]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %1, %0 : !m, !m
}

// CHECK-LABEL: func @effect_waits_no_longer_than_for_the_next
// CHECK:         mpmd.fragment<mesh="m", origin=["pure"]>
// CHECK:         @first
// CHECK:         @second
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]>
func.func @effect_waits_no_longer_than_for_the_next(%a: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=[]> (%a) (%x: tensor<4xf32>) {
    %s = stablehlo.custom_call @first(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["pure"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%a) (%x: tensor<4xf32>) {
    %s = stablehlo.custom_call @second(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %1, %2, %3 : !m, !m, !m
}
