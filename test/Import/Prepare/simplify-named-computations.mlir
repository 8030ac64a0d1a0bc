// RUN: mpmd-opt %s -mpmd-simplify-named-computations | FileCheck %s

!t = tensor<2x3xf32>
#topology = #mpmd.topology<<"p": <["d"=2]>>>

// CHECK-LABEL: func @drops_duplicates_pass_through_and_unused
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<2x3xf32>)
func.func @drops_duplicates_pass_through_and_unused(%x: !t, %y: !t) -> (!t, !t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]] = mpmd.named_computation<"blk"(1)> (%[[X]]) (%[[A:.*]]: tensor<2x3xf32>) {
  // CHECK-NEXT:   %[[M:.*]] = stablehlo.multiply %[[A]], %[[A]]
  // CHECK-NEXT:   mpmd.return %[[M]] :
  // CHECK-NEXT: } : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: return %[[R]], %[[Y]], %[[R]]
  %r:4 = mpmd.named_computation<"blk"(1)> (%x, %y, %x) (%a: !t, %b: !t, %c: !t) {
    %o = stablehlo.optimization_barrier %b : !t
    %m = stablehlo.multiply %a, %c : !t
    %n = stablehlo.negate %c : !t
    mpmd.return %m, %o, %m, %n : !t, !t, !t, !t
  } : (!t, !t, !t) -> (!t, !t, !t, !t)
  return %r#0, %r#1, %r#2 : !t, !t, !t
}

// CHECK-LABEL: func @rebuilds_barrier_with_remaining_operands
func.func @rebuilds_barrier_with_remaining_operands(%x: !t, %y: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]] = mpmd.named_computation<"f"> (%[[X:.*]]) (%[[A:.*]]: tensor<2x3xf32>) {
  // CHECK-NEXT:   %[[N:.*]] = stablehlo.negate %[[A]]
  // CHECK-NEXT:   %[[O:.*]] = stablehlo.optimization_barrier %[[N]] :
  // CHECK-NEXT:   mpmd.return %[[O]]
  %r:2 = mpmd.named_computation<"f"> (%x, %y) (%a: !t, %b: !t) {
    %n = stablehlo.negate %a : !t
    %o:2 = stablehlo.optimization_barrier {dropped} %b, %n : !t, !t
    mpmd.return %o#0, %o#1 : !t, !t
  } : (!t, !t) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// CHECK-LABEL: func @keeps_barrier_whose_result_is_returned_twice
func.func @keeps_barrier_whose_result_is_returned_twice(%x: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]] = mpmd.named_computation
  // CHECK-NEXT:   %[[O:.*]] = stablehlo.optimization_barrier
  // CHECK-NEXT:   mpmd.return %[[O]] :
  // CHECK:      return %[[R]], %[[R]]
  %r:2 = mpmd.named_computation<"f"> (%x) (%a: !t) {
    %o = stablehlo.optimization_barrier %a : !t
    mpmd.return %o, %o : !t, !t
  } : (!t) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// CHECK-LABEL: func @keeps_equal_ops
func.func @keeps_equal_ops(%x: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]]:2 = mpmd.named_computation<"f"> (%[[X:.*]]) (
  // CHECK-NEXT:   %[[S0:.*]] = stablehlo.add
  // CHECK-NEXT:   %[[S1:.*]] = stablehlo.add
  // CHECK-NEXT:   mpmd.return %[[S0]], %[[S1]]
  %r:2 = mpmd.named_computation<"f"> (%x, %x) (%a: !t, %b: !t) {
    %0 = stablehlo.add %a, %a : !t
    %1 = stablehlo.add %b, %b : !t
    mpmd.return %0, %1 : !t, !t
  } : (!t, !t) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// CHECK-LABEL: func @collapses_chain_of_forwarding_computations
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>)
func.func @collapses_chain_of_forwarding_computations(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]] = mpmd.named_computation<"g"> (%[[X]]) (%[[A:.*]]: tensor<2x3xf32>) {
  // CHECK-NEXT:   stablehlo.add %[[A]], %[[A]]
  // CHECK-NEXT:   mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[R]]
  %0 = mpmd.named_computation<"f"> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!t) -> !t
  %1 = mpmd.named_computation<"g"> (%x, %0) (%a: !t, %b: !t) {
    %2 = stablehlo.add %a, %b : !t
    mpmd.return %2 : !t
  } : (!t, !t) -> !t
  return %1 : !t
}

// CHECK-LABEL: func @keeps_result_of_op_with_side_effects
func.func @keeps_result_of_op_with_side_effects(%x: !t) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.named_computation<"f"> (%{{.*}}) (%[[A:.*]]: tensor<2x3xf32>) {
  // CHECK-NEXT:   %[[C:.*]] = stablehlo.custom_call @effect
  // CHECK-NEXT:   mpmd.return %[[C]] : tensor<2x3xf32>
  // CHECK-NEXT: } : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %0:2 = mpmd.named_computation<"f"> (%x) (%a: !t) {
    %1 = stablehlo.custom_call @effect(%a) {has_side_effect = true} : (!t) -> !t
    %2 = stablehlo.negate %a : !t
    mpmd.return %1, %2 : !t, !t
  } : (!t) -> (!t, !t)
  return
}

// CHECK-LABEL: func @leaves_plain_function_alone
func.func @leaves_plain_function_alone(%x: !t) -> !t {
  // CHECK-NEXT: mpmd.named_computation
  %0 = mpmd.named_computation<"f"> (%x) (%a: !t) {
    mpmd.return %a : !t
  } : (!t) -> !t
  return %0 : !t
}

// CHECK-LABEL: func @loses_discardable_attributes_where_it_rebuilds
func.func @loses_discardable_attributes_where_it_rebuilds(%x: !t, %y: !t) -> (!t, !t)
    attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.named_computation<"f"(1)> (%{{[^,]*}}) (%
  // CHECK:      mpmd.named_computation<"g"> (%{{[^,]*}}) {kept} (%
  %0 = mpmd.named_computation<"f"(1)> (%x, %y) {gone} (%a: !t, %b: !t) {
    %2 = stablehlo.abs %a : !t
    mpmd.return %2 : !t
  } : (!t, !t) -> !t
  %1 = mpmd.named_computation<"g"> (%0) {kept} (%a: !t) {
    %2 = stablehlo.abs %a : !t
    mpmd.return %2 : !t
  } : (!t) -> !t
  return %0, %1 : !t, !t
}

// CHECK-LABEL: func @keeps_computation_with_effect_and_without_results
func.func @keeps_computation_with_effect_and_without_results(%x: !t) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.named_computation<"f"> (%[[X:.*]], %[[X]]) {kept} (%[[A:.*]]: tensor<2x3xf32>, %{{.*}}: tensor<2x3xf32>) {
  // CHECK-NEXT:   stablehlo.custom_call @effect(%[[A]], %[[A]])
  mpmd.named_computation<"f"> (%x, %x) {kept} (%a: !t, %b: !t) {
    %0 = stablehlo.custom_call @effect(%a, %b) {has_side_effect = true} : (!t, !t) -> !t
    mpmd.return
  } : (!t, !t) -> ()
  return
}
