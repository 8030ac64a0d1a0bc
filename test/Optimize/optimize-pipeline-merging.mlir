// RUN: mpmd-opt %s -mpmd-import-pipeline=name-to-mesh-assignment=f@m0/1,g@m0/2 -mpmd-optimize-pipeline=pipeline-schedule=Circular | FileCheck %s --check-prefixes=CHECK,BEFORE
// RUN: mpmd-opt %s "-mpmd-import-pipeline=name-to-mesh-assignment=f@m0/1,g@m0/2 merge-after-scheduling=true" "-mpmd-optimize-pipeline=pipeline-schedule=Circular merge-after-scheduling=true" | FileCheck %s --check-prefixes=CHECK,AFTER

#topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>

// What is computed from the argument of the first call, and passed to the
// second, belongs to no computation. Merged into stage 2 of microbatch 0 before
// scheduling, it makes microbatch 1 wait for all of microbatch 0.
// CHECK-LABEL: func.func public @main
// BEFORE:      stage=1> {{.*}}call_counter = 0
// BEFORE:      stage=2> {{.*}}call_counter = 0
// BEFORE:      stage=1> {{.*}}call_counter = 1
// BEFORE:      stage=2> {{.*}}call_counter = 1
// AFTER:       stage=1> {{.*}}call_counter = 0
// AFTER:       stage=1> {{.*}}call_counter = 1
// AFTER:       stage=2> {{.*}}call_counter = 0
// AFTER:       stage=2> {{.*}}call_counter = 1
// CHECK-NOT:   origin=[]
func.func public @main(%x: tensor<4xf32>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {topology = #topology} {
  %0:2 = mpmd.call @step(%x, %s) {call_counter = 0 : ui32} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1:2 = mpmd.call @step(%x, %0#1) {call_counter = 1 : ui32} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %1#0 : tensor<4xf32>, tensor<4xf32>
}

func.func private @step(%x: tensor<4xf32>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {topology = #topology} {
  %f = mpmd.named_computation<"f"> (%x, %s) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %r = stablehlo.add %a, %b : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = mpmd.named_computation<"g"> (%f, %s) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %r = stablehlo.multiply %a, %b : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %next = stablehlo.negate %s : tensor<4xf32>
  return %g, %next : tensor<4xf32>, tensor<4xf32>
}
