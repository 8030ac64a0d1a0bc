// RUN: mpmd-opt %s -mpmd-inline-nested-user-exposed-ops='assignment=outer@p/1,middle@p/1,tag@p#pinned_host/7,same@p/1' | FileCheck %s

!t = tensor<3xf32>
#topology = #mpmd.topology<<"p": <["d"=3]>>>

// CHECK-LABEL: func @dissolves_all_exposed_ops
func.func @dissolves_all_exposed_ops(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.named_computation<"outer"> (%{{.*}}) (%[[A:.*]]: tensor<3xf32>) {
  // CHECK-NEXT:   %[[M:.*]] = stablehlo.maximum %[[A]], %[[A]]
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %[[M]], %[[A]] : tensor<3xf32>
  // CHECK-NEXT:   %[[R:.*]] = stablehlo.add %[[S]], %[[M]] : tensor<3xf32>
  // CHECK-NEXT:   mpmd.return %[[R]]
  // CHECK-NEXT: }
  %0 = mpmd.named_computation<"outer"> (%x) (%a: !t) {
    %1 = mpmd.named_tensor %a name="tag" : !t
    %2 = mpmd.named_computation<"unknown"(1)> (%1, %a) (%b: !t, %c: !t) {
      %3 = stablehlo.maximum %b, %c : !t
      mpmd.return %3 : !t
    } : (!t, !t) -> !t
    %4 = mpmd.broadcast %2 : !t
    %5 = mpmd.reduce<add> %4, %a, %2 : (!t, !t, !t) -> !t
    %6 = mpmd.reduce<none> %5 : (!t) -> !t
    mpmd.return %6 : !t
  } : (!t) -> !t
  return %0 : !t
}

// CHECK-LABEL: func @flattens_two_levels
func.func @flattens_two_levels(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.named_computation<"outer"> (%{{.*}}) (%[[A:.*]]: tensor<3xf32>) {
  // CHECK-NEXT:   %[[N:.*]] = stablehlo.negate %[[A]]
  // CHECK-NEXT:   %[[E:.*]] = stablehlo.sine %[[N]]
  // CHECK-NEXT:   mpmd.return %[[E]]
  // CHECK-NEXT: }
  %0 = mpmd.named_computation<"outer"> (%x) (%a: !t) {
    %1 = mpmd.named_computation<"middle"> (%a) (%b: !t) {
      %2 = stablehlo.negate %b : !t
      %3 = mpmd.named_computation<"same"> (%2) (%c: !t) {
        %4 = stablehlo.sine %c : !t
        mpmd.return %4 : !t
      } : (!t) -> !t
      mpmd.return %3 : !t
    } : (!t) -> !t
    mpmd.return %1 : !t
  } : (!t) -> !t
  return %0 : !t
}

// CHECK-LABEL: func @dissolves_computation_that_returns_its_arguments
func.func @dissolves_computation_that_returns_its_arguments(%x: !t, %y: !t) -> (!t, !t) attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.named_computation<"outer"> (%{{.*}}, %{{.*}}) (%[[A:.*]]: tensor<3xf32>, %[[B:.*]]: tensor<3xf32>) {
  // CHECK-NEXT:   mpmd.return %[[B]], %[[A]]
  %0:2 = mpmd.named_computation<"outer"> (%x, %y) (%a: !t, %b: !t) {
    %1:2 = mpmd.named_computation<"same"> (%a, %b) (%c: !t, %d: !t) {
      mpmd.return %d, %c : !t, !t
    } : (!t, !t) -> (!t, !t)
    mpmd.return %1#0, %1#1 : !t, !t
  } : (!t, !t) -> (!t, !t)
  return %0#0, %0#1 : !t, !t
}

// CHECK-LABEL: func @leaves_top_level_ops_alone
func.func @leaves_top_level_ops_alone(%x: !t) -> !t attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.named_computation<"unknown">
  // CHECK:      mpmd.named_tensor
  // CHECK-NEXT: mpmd.broadcast
  // CHECK-NEXT: mpmd.reduce<none>
  %0 = mpmd.named_computation<"unknown"> (%x) (%a: !t) {
    %1 = stablehlo.negate %a : !t
    mpmd.return %1 : !t
  } : (!t) -> !t
  %1 = mpmd.named_tensor %0 name="tag" : !t
  %2 = mpmd.broadcast %1 : !t
  %3 = mpmd.reduce<none> %2 : (!t) -> !t
  return %3 : !t
}
