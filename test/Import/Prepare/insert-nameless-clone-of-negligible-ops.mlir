// RUN: mpmd-opt %s -mpmd-insert-nameless-clone-of-negligible-ops | FileCheck %s

!t = tensor<5xf32>
#topology = #mpmd.topology<<"p": <["d"=5]>>>

// CHECK-LABEL: func @clones_for_users_but_not_for_return
func.func @clones_for_users_but_not_for_return(%x: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: %[[R:.*]]:2 = mpmd.named_computation<"mk">
  // CHECK-NEXT:   %[[K:.*]] = stablehlo.constant dense<3.0
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %{{.*}}, %[[K]]
  // CHECK-NEXT:   mpmd.return %[[S]], %[[K]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[CLONE:.*]] = stablehlo.constant dense<3.0
  // CHECK-NEXT: %[[T:.*]] = stablehlo.multiply %[[R]]#0, %[[CLONE]]
  // CHECK-NEXT: return %[[T]], %[[R]]#1
  %r:2 = mpmd.named_computation<"mk"> (%x) (%a: !t) {
    %k = stablehlo.constant dense<3.0> : !t
    %s = stablehlo.add %a, %k : !t
    mpmd.return %s, %k : !t, !t
  } : (!t) -> (!t, !t)
  %t = stablehlo.multiply %r#0, %r#1 : !t
  return %t, %r#1 : !t, !t
}

// CHECK-LABEL: func @clones_even_if_only_returned_by_function
func.func @clones_even_if_only_returned_by_function() -> !t attributes {topology = #topology} {
  // CHECK:      %[[R:.*]] = mpmd.named_computation<"mk">
  // CHECK:      mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: stablehlo.iota
  // CHECK-NEXT: return %[[R]]
  %r = mpmd.named_computation<"mk"> () () {
    %k = stablehlo.iota dim = 0 : !t
    mpmd.return %k : !t
  } : () -> !t
  return %r : !t
}

// CHECK-LABEL: func @clones_once_per_result_in_order_of_results
func.func @clones_once_per_result_in_order_of_results() -> !t attributes {topology = #topology} {
  // CHECK:      %[[R:.*]]:3 = mpmd.named_computation<"mk">
  // CHECK:      mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[C0:.*]] = stablehlo.constant {two} dense<2.0
  // CHECK-NEXT: %[[C1:.*]] = stablehlo.constant dense<1.0
  // CHECK-NEXT: %[[C2:.*]] = stablehlo.constant {two} dense<2.0
  // CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[C0]], %[[C1]]
  // CHECK-NEXT: stablehlo.add %[[S]], %[[C2]]
  %r:3 = mpmd.named_computation<"mk"> () () {
    %one = stablehlo.constant dense<1.0> : !t
    %two = stablehlo.constant {two} dense<2.0> : !t
    mpmd.return %two, %one, %two : !t, !t, !t
  } : () -> (!t, !t, !t)
  %0 = stablehlo.add %r#0, %r#1 : !t
  %1 = stablehlo.add %0, %r#2 : !t
  return %1 : !t
}

// CHECK-LABEL: func @redirects_return_of_enclosing_computation
func.func @redirects_return_of_enclosing_computation(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK:      mpmd.named_computation<"outer">
  // CHECK-NEXT:   mpmd.named_computation<"inner">
  // CHECK:        mpmd.return
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %[[IN:.*]] = stablehlo.constant dense<4.0
  // CHECK-NEXT:   mpmd.return %[[IN]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[OUT:.*]] = stablehlo.constant dense<4.0
  // CHECK-NEXT: stablehlo.add %{{.*}}, %[[OUT]]
  %0 = mpmd.named_computation<"outer"> () () {
    %1 = mpmd.named_computation<"inner"> () () {
      %k = stablehlo.constant dense<4.0> : !t
      mpmd.return %k : !t
    } : () -> !t
    mpmd.return %1 : !t
  } : () -> !t
  %2 = stablehlo.add %x, %0 : !t
  return %2 : !t
}

// CHECK-LABEL: func @leaves_unreturned_constant_alone
func.func @leaves_unreturned_constant_alone(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK:      mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %0 = mpmd.named_computation<"f"> (%x) (%a: !t) {
    %k = stablehlo.constant dense<4.0> : !t
    %1 = stablehlo.add %a, %k : !t
    mpmd.return %1 : !t
  } : (!t) -> !t
  return %0 : !t
}

// CHECK-LABEL: func @leaves_plain_function_alone
func.func @leaves_plain_function_alone(%x: !t) -> !t {
  // CHECK:      mpmd.return
  // CHECK-NEXT: }
  // CHECK-NEXT: stablehlo.add
  %r = mpmd.named_computation<"mk"> () () {
    %k = stablehlo.constant dense<3.0> : !t
    mpmd.return %k : !t
  } : () -> !t
  %0 = stablehlo.add %x, %r : !t
  return %0 : !t
}
