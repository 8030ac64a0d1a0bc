// RUN: mpmd-opt %s -split-input-file -mpmd-optimize-distinct-bodies | FileCheck %s

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topo = #mpmd.topology<<"m1" : <["x"=2]>>, <"m2" : <["x"=2]>>>

// CHECK-LABEL: func.func @equal_bodies_become_equal_bodies
func.func @equal_bodies_become_equal_bodies(%a: !m1, %b: !m2) -> (!m1, !m2)
    attributes {topology = #topo} {
  // CHECK: mpmd.fragment<mesh="m1", origin=["f"]> (%{{.*}}) (%[[X:.*]]: tensor<4xf32>) {
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[X]]
  // CHECK-NEXT: mpmd.return %[[S]]
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<4xf32>
    %s = stablehlo.add %x, %z : tensor<4xf32>
    %t = stablehlo.sine %s : tensor<4xf32>
    mpmd.return %t : tensor<4xf32>
  } : (!m1) -> !m1
  // CHECK: mpmd.fragment<mesh="m2", origin=["g"]> (%{{.*}}) (%[[Y:.*]]: tensor<4xf32>) {
  // CHECK-NEXT: %[[T:.*]] = stablehlo.sine %[[Y]]
  // CHECK-NEXT: mpmd.return %[[T]]
  %1 = mpmd.fragment<mesh="m2", origin=["g"]> (%b) (%x: tensor<4xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<4xf32>
    %s = stablehlo.add %x, %z : tensor<4xf32>
    %t = stablehlo.sine %s : tensor<4xf32>
    mpmd.return %t : tensor<4xf32>
  } : (!m2) -> !m2
  return %0, %1 : !m1, !m2
}

// CHECK-LABEL: func.func @bodies_that_differ_in_wiring_are_apart
func.func @bodies_that_differ_in_wiring_are_apart(%a: !m1, %b: !m1) -> (!m1, !m1)
    attributes {topology = #topo} {
  // CHECK: (%[[X:arg[0-9]+]]: tensor<4xf32>, %[[Y:arg[0-9]+]]: tensor<4xf32>) {
  // CHECK-NEXT: stablehlo.subtract %[[X]], %[[Y]]
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%a, %b) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<4xf32>
    %s = stablehlo.add %x, %z : tensor<4xf32>
    %t = stablehlo.subtract %s, %y : tensor<4xf32>
    mpmd.return %t : tensor<4xf32>
  } : (!m1, !m1) -> !m1
  // CHECK: (%[[X:arg[0-9]+]]: tensor<4xf32>, %[[Y:arg[0-9]+]]: tensor<4xf32>) {
  // CHECK-NEXT: stablehlo.subtract %[[Y]], %[[X]]
  %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%a, %b) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<4xf32>
    %s = stablehlo.add %x, %z : tensor<4xf32>
    %t = stablehlo.subtract %y, %s : tensor<4xf32>
    mpmd.return %t : tensor<4xf32>
  } : (!m1, !m1) -> !m1
  return %0, %1 : !m1, !m1
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topo = #mpmd.topology<<"m1" : <["x"=2]>>>

// CHECK-LABEL: func.func @bodies_in_loops_are_optimized
func.func @bodies_in_loops_are_optimized(%a: !m1) -> !m1 attributes {topology = #topo} {
  // CHECK: mpmd.for
  // CHECK-NEXT: mpmd.fragment<mesh="m1", origin=["f"]> (%{{.*}}) (%[[X:.*]]: tensor<4xf32>) {
  // CHECK-NEXT: mpmd.return %[[X]]
  %0 = mpmd.for (%a) {iterations = 2 : ui32, unroll_factor = 1 : ui32} (%v: !m1, %i: tensor<ui32>) {
    %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%v) (%x: tensor<4xf32>) {
      %o = stablehlo.constant dense<1.0> : tensor<4xf32>
      %s = stablehlo.multiply %x, %o : tensor<4xf32>
      mpmd.return %s : tensor<4xf32>
    } : (!m1) -> !m1
    mpmd.return %1 : !m1
  } : !m1
  return %0 : !m1
}

// CHECK-LABEL: func.func @plain_functions_are_optimized_whole
func.func @plain_functions_are_optimized_whole(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return %arg0
  %z = stablehlo.constant dense<0.0> : tensor<4xf32>
  %s = stablehlo.add %x, %z : tensor<4xf32>
  return %s : tensor<4xf32>
}
