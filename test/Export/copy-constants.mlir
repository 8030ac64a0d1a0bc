// RUN: mpmd-opt %s -mpmd-copy-constants | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// The constant of the last operand is first; operands, arguments, transfers
// and the producer stay.
// CHECK-LABEL: func @copies_constants_through_transfers_to_the_front
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @copies_constants_through_transfers_to_the_front(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[P:.*]]:2 = mpmd.fragment<mesh="m2", origin=[]> () () {
  // CHECK:      %[[T:.*]] = mpmd.transfer %[[P]]#0
  // CHECK-NEXT: %[[U:.*]] = mpmd.transfer %[[P]]#1
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%[[T]], %[[X]], %[[U]]) (%{{.*}}: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>) {
  // CHECK-NEXT:   %[[HI:.*]] = stablehlo.constant dense<2.0
  // CHECK-NEXT:   %[[LO:.*]] = stablehlo.constant dense<1.0
  // CHECK-NEXT:   %[[N:.*]] = stablehlo.negate %[[B]]
  // CHECK-NEXT:   stablehlo.clamp %[[LO]], %[[N]], %[[HI]]
  %0:2 = mpmd.fragment<mesh="m2", origin=[]> () () {
    %4 = stablehlo.constant dense<1.0> : !t
    %5 = stablehlo.constant dense<2.0> : !t
    mpmd.return %4, %5 : !t, !t
  } : () -> (!m2, !m2)
  %1 = mpmd.transfer %0#0 : (!m2) -> !m1
  %2 = mpmd.transfer %0#1 : (!m2) -> !m1
  %3 = mpmd.fragment<mesh="m1", origin=["f"]> (%1, %x, %2) (%a: !t, %b: !t, %c: !t) {
    %4 = stablehlo.negate %b : !t
    %5 = stablehlo.clamp %a, %4, %c : !t
    mpmd.return %5 : !t
  } : (!m1, !m1, !m1) -> !m1
  return %3 : !m1
}

// CHECK-LABEL: func @copies_once_per_operand_even_if_unused
func.func @copies_once_per_operand_even_if_unused(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   stablehlo.constant
  // CHECK-NEXT:   stablehlo.constant
  // CHECK-NEXT:   mpmd.return
  %0 = mpmd.fragment<mesh="m1", origin=["g"]> () () {
    %2 = stablehlo.constant dense<1.0> : !t
    mpmd.return %2 : !t
  } : () -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %0, %0) (%a: !t, %b: !t, %c: !t) {
    mpmd.return %a : !t
  } : (!m1, !m1, !m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @leaves_iota_and_computed_values_alone
func.func @leaves_iota_and_computed_values_alone(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   stablehlo.add
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: !t) {
    %2 = stablehlo.iota dim = 0 : !t
    %3 = stablehlo.constant dense<1.0> : !t
    %4 = stablehlo.add %a, %3 : !t
    mpmd.return %2, %4 : !t, !t
  } : (!m1) -> (!m1, !m1)
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0#0, %0#1) (%a: !t, %b: !t) {
    %2 = stablehlo.add %a, %b : !t
    mpmd.return %2 : !t
  } : (!m1, !m1) -> !m1
  return %1 : !m1
}

// The consumer in the middle gets the constant after the last one has looked.
// CHECK-LABEL: func @does_not_follow_a_fragment_that_passes_a_constant_on
func.func @does_not_follow_a_fragment_that_passes_a_constant_on() -> !m1
    attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.constant
  // CHECK-NEXT:   mpmd.return %[[C]]
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"]> (%{{.*}}) (%[[A:.*]]: tensor<4xf32>) {
  // CHECK-NEXT:   stablehlo.abs %[[A]]
  %0 = mpmd.fragment<mesh="m1", origin=[]> () () {
    %3 = stablehlo.constant dense<1.0> : !t
    mpmd.return %3 : !t
  } : () -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    mpmd.return %a : !t
  } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"]> (%1) (%a: !t) {
    %3 = stablehlo.abs %a : !t
    mpmd.return %3 : !t
  } : (!m1) -> !m1
  return %2 : !m1
}

// CHECK-LABEL: func @leaves_constants_of_sdy_alone
func.func @leaves_constants_of_sdy_alone() -> !m1 attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:   stablehlo.abs
  %0 = mpmd.fragment<mesh="m1", origin=[]> () () {
    %2 = sdy.constant dense<1.0> : !t
    mpmd.return %2 : !t
  } : () -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: !t) {
    %2 = stablehlo.abs %a : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @copies_between_user_and_inferred_fragments_with_attributes
func.func @copies_between_user_and_inferred_fragments_with_attributes() -> !m1
    attributes {topology = #topology} {
  // CHECK:      mpmd.fragment<mesh="m1", origin=[]> (%{{.*}}) {call_counter = 1 : ui32} (%
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.constant {tag} dense<1.0
  // CHECK-NEXT:   stablehlo.abs %[[C]]
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> () () {
    %2 = stablehlo.constant {tag} dense<1.0> : !t
    mpmd.return %2 : !t
  } : () -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=[]> (%0) {call_counter = 1 : ui32} (%a: !t) {
    %2 = stablehlo.abs %a : !t
    mpmd.return %2 : !t
  } : (!m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @leaves_fragments_in_loops_alone
func.func @leaves_fragments_in_loops_alone(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK:      mpmd.for
  // CHECK-NEXT:   mpmd.fragment<mesh="m1", origin=["f"]>
  // CHECK-NEXT:     stablehlo.add
  %0 = mpmd.fragment<mesh="m1", origin=[]> () () {
    %2 = stablehlo.constant dense<1.0> : !t
    mpmd.return %2 : !t
  } : () -> !m1
  %1 = mpmd.for (%x) {iterations = 2 : ui32} (%s: !m1, %index: tensor<ui32>) {
    %2 = mpmd.fragment<mesh="m1", origin=["f"]> (%s, %0) (%a: !t, %b: !t) {
      %3 = stablehlo.add %a, %b : !t
      mpmd.return %3 : !t
    } : (!m1, !m1) -> !m1
    mpmd.return %2 : !m1
  } : !m1
  return %1 : !m1
}

// What reads itself, where nothing comes, has no producer.
// CHECK-LABEL: func @leaves_other_blocks_alone
// CHECK:         mpmd.transfer
func.func @leaves_other_blocks_alone(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
^bb1:
  %0 = mpmd.transfer %0 : (!m1) -> !m1
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  return %1 : !m1
}
