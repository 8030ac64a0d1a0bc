// RUN: mpmd-opt %s -mpmd-merge-inferred-fragments=clone-inferred-fragments=true | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// Also through another inferred fragment, which is cloned first.
// CHECK-LABEL: func @gives_each_consumer_a_copy
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @gives_each_consumer_a_copy(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  // CHECK-NEXT:   stablehlo.negate
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   stablehlo.sine
  // CHECK-NEXT:   mpmd.return
  // CHECK:      %[[G:.*]] = mpmd.fragment<mesh="m1", origin=["g"]> (%[[X]])
  // CHECK-NEXT:   stablehlo.negate
  // CHECK-NEXT:   stablehlo.abs
  // CHECK-NEXT:   stablehlo.cosine
  // CHECK-NEXT:   mpmd.return
  // CHECK:      return %[[F]], %[[G]]
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %4 = stablehlo.negate %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) (%a: !t) {
    %4 = stablehlo.abs %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%1) (%a: !t) {
    %4 = stablehlo.sine %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["g"]> (%1) (%a: !t) {
    %4 = stablehlo.cosine %a : !t
    mpmd.return %4 : !t
  } : (!m1) -> !m1
  return %2, %3 : !m1, !m1
}

// CHECK-LABEL: func @keeps_the_original_for_other_users
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @keeps_the_original_for_other_users(%x: !m1) -> (!m1, !m1, !m2) attributes {topology = #topology} {
  // CHECK-NEXT: %[[ORIGINAL:.*]] = mpmd.fragment<mesh="m1", origin=[]> (%[[X]])
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[ORIGINAL]]
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]])
  // CHECK:      %[[G:.*]] = mpmd.fragment<mesh="m1", origin=["g"]> (%[[X]])
  // CHECK:      return %[[F]], %[[G]], %[[T]]
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %3 = stablehlo.negate %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %t = mpmd.transfer %0 : (!m1) -> !m2
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1, %2, %t : !m1, !m1, !m2
}

// CHECK-LABEL: func @does_not_repeat_side_effects
func.func @does_not_repeat_side_effects(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK:     custom_call @ping
  // CHECK-NOT: custom_call
  // CHECK:     return
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %3 = stablehlo.custom_call @ping(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %1, %2 : !m1, !m1
}

// CHECK-LABEL: func @merges_a_single_consumer_as_ever
func.func @merges_a_single_consumer_as_ever(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK:      return %[[F]]#0, %[[F]]#1
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %3 = stablehlo.negate %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  return %0, %1 : !m1, !m1
}
