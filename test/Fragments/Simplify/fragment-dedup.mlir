// RUN: mpmd-opt %s -mpmd-fragment-dedup | FileCheck %s

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m1_x = !mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}]>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// CHECK-LABEL: func @redirects_repeated_operands_and_results_but_keeps_the_lists
// CHECK-SAME:    (%[[X:.*]]: !mpmd
func.func @redirects_repeated_operands_and_results_but_keeps_the_lists(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%[[X]], %[[X]]) {kept} (%[[A:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>) {
  // CHECK-NEXT:   %[[S:.*]] = stablehlo.add %[[A]], %[[A]]
  // CHECK-NEXT:   mpmd.return %[[S]], %[[S]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[M]]#0, %[[M]]#0
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %x) {kept} (%a: !t, %b: !t) {
    %1 = stablehlo.add %a, %b : !t
    mpmd.return %1, %1 : !t, !t
  } : (!m1, !m1) -> (!m1, !m1)
  return %0#0, %0#1 : !m1, !m1
}

// CHECK-LABEL: func @sees_arguments_of_one_operand_as_one_returned_value
func.func @sees_arguments_of_one_operand_as_one_returned_value(%x: !m1) -> (!m1, !m1)
    attributes {topology = #topology} {
  // CHECK-NEXT: %[[M:.*]]:2 = mpmd.fragment
  // CHECK-SAME:   (%[[A:[a-z0-9]*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
  // CHECK-NEXT:   mpmd.return %[[A]], %[[A]]
  // CHECK:      return %[[M]]#0, %[[M]]#0
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x, %x) (%a: !t, %b: !t) {
    mpmd.return %a, %b : !t, !t
  } : (!m1, !m1) -> (!m1, !m1)
  return %0#0, %0#1 : !m1, !m1
}

// CHECK-LABEL: func @sees_repeated_results_of_a_producer_as_one_operand
func.func @sees_repeated_results_of_a_producer_as_one_operand(%x: !m1) -> !m1
    attributes {topology = #topology} {
  // CHECK:      %[[M:.*]]:2 = mpmd.fragment
  // CHECK:      mpmd.fragment<mesh="m1", origin=["g"]> (%[[M]]#0, %[[M]]#0) (%[[A:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>) {
  // CHECK-NEXT:   stablehlo.add %[[A]], %[[A]]
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a, %a : !t, !t
  } : (!m1) -> (!m1, !m1)
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%0#0, %0#1) (%a: !t, %b: !t) {
    %2 = stablehlo.add %a, %b : !t
    mpmd.return %2 : !t
  } : (!m1, !m1) -> !m1
  return %1 : !m1
}

// CHECK-LABEL: func @keeps_results_that_differ_in_sharding_apart
func.func @keeps_results_that_differ_in_sharding_apart(%x: !m1) -> (!m1, !m1_x)
    attributes {topology = #topology} {
  // CHECK: return %{{.*}}#0, %{{.*}}#1
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !t) {
    mpmd.return %a, %a : !t, !t
  } : (!m1) -> (!m1, !m1_x)
  return %0#0, %0#1 : !m1, !m1_x
}

// CHECK-LABEL: func @acts_on_fragments_in_loops
func.func @acts_on_fragments_in_loops(%x: !m1) -> !m1 attributes {topology = #topology} {
  // CHECK: mpmd.for
  // CHECK: mpmd.fragment
  // CHECK-SAME: (%[[A:[a-z0-9]*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
  // CHECK-NEXT: stablehlo.add %[[A]], %[[A]]
  %0 = mpmd.for (%x) {iterations = 2 : ui32} (%s: !m1, %index: tensor<ui32>) {
    %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%s, %s) (%a: !t, %b: !t) {
      %2 = stablehlo.add %a, %b : !t
      mpmd.return %2 : !t
    } : (!m1, !m1) -> !m1
    mpmd.return %1 : !m1
  } : !m1
  return %0 : !m1
}

// CHECK-LABEL: func @leaves_function_without_mesh_alone
func.func @leaves_function_without_mesh_alone(%x: !t) -> (!t, !t) {
  // CHECK: return %[[R:.*]]#0, %[[R]]#1
  %0:2 = mpmd.named_computation<"f"> (%x) (%a: !t) {
    mpmd.return %a, %a : !t, !t
  } : (!t) -> (!t, !t)
  return %0#0, %0#1 : !t, !t
}

// A reader of one on the device, by attributes, cannot read one on the host.
// CHECK-LABEL: func @keeps_result_on_the_device
// CHECK:         return %[[F:.*]]#0, %[[F]]#1, %[[F]]#0
func.func @keeps_result_on_the_device(%x: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  %0:3 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}, {mhlo.memory_kind = "pinned_host"}]} (%a: !t) {
    %1 = stablehlo.negate %a : !t
    mpmd.return %1, %1, %1 : !t, !t, !t
  } : (!m1) -> (!m1, !m1, !m1)
  return %0#0, %0#1, %0#2 : !m1, !m1, !m1
}
