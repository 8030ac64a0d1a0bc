// Microbatches of two shapes: schedule auto runs the short one, which is the second of
// the program, first. Each unit adds to the sum of the one before, which is then the
// other one. A unit that reads something else of another microbatch keeps the order.

// RUN: split-file %s %t
// RUN: mpmd-opt %t/program.mlir -mpmd-pipeline-scheduler=must-happen-before=auto \
// RUN:   | FileCheck %s
// RUN: mpmd-opt %t/state.mlir -mpmd-pipeline-scheduler=must-happen-before=auto 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STATE --implicit-check-not=warning

// CHECK-LABEL: func.func @main
// CHECK:       mpmd.fragment<mesh="m0", origin=["f"], stage=0> {{.*}}call_counter = 1
// CHECK:       %[[SHORT1:.*]]:2 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%{{[0-9]+}}, %arg1, %arg2) {call_counter = 1
// CHECK:       mpmd.fragment<mesh="m0", origin=["f"], stage=0> {{.*}}call_counter = 0
// CHECK:       %[[LONG1:.*]]:2 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%{{[0-9]+}}, %arg1, %[[SHORT1]]#1) {call_counter = 0
// CHECK:       %[[SHORT0:.*]] = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%{{[0-9]+}}, %arg5, %arg3) {call_counter = 1
// CHECK:       %[[LONG0:.*]] = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%{{[0-9]+}}, %arg4, %[[SHORT0]]) {call_counter = 0
// CHECK:       return %[[LONG0]], %[[LONG1]]#1

// STATE-LABEL: func.func @main
// STATE:       origin=["f"], stage=0> {{.*}}call_counter = 0
// STATE:       origin=["g"(1)], stage=1> (%{{[0-9]+}}, %arg1, %arg2) {call_counter = 0
// STATE:       origin=["g"(1)], stage=1> {{.*}}call_counter = 1

//--- program.mlir
#topology = #mpmd.topology<<"m0": <["x"=1]>>, <"m1": <["x"=1]>>>
func.func @main(%w0: !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, %w1: !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, %zero: !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, %zero0: !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, %x0: !mpmd.mesh_tensor<"m0", tensor<64x4xf32>>, %x1: !mpmd.mesh_tensor<"m0", tensor<8x4xf32>>)
  -> (!mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) attributes {topology = #topology} {
  %f0 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x0, %w0) {call_counter = 0 : ui32} (%a: tensor<64x4xf32>, %b: tensor<4x4xf32>) {
    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x4xf32>, tensor<4x4xf32>) -> tensor<64x4xf32>
    mpmd.return %c : tensor<64x4xf32>
  } : (!mpmd.mesh_tensor<"m0", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<64x4xf32>>
  %t0 = mpmd.transfer %f0 : (!mpmd.mesh_tensor<"m0", tensor<64x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<64x4xf32>>
  %g0:2 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%t0, %w1, %zero) {call_counter = 0 : ui32} (%a: tensor<64x4xf32>, %b: tensor<4x4xf32>, %s: tensor<4x4xf32>) {
    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x4xf32>, tensor<4x4xf32>) -> tensor<64x4xf32>
    %d = stablehlo.dot_general %a, %c, contracting_dims = [0] x [0] : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.add %s, %d : tensor<4x4xf32>
    mpmd.return %c, %e : tensor<64x4xf32>, tensor<4x4xf32>
  } : (!mpmd.mesh_tensor<"m1", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> (!mpmd.mesh_tensor<"m1", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>)
  %u0 = mpmd.transfer %g0#0 : (!mpmd.mesh_tensor<"m1", tensor<64x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<64x4xf32>>
  %h0 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%u0, %x0, %zero0) {call_counter = 0 : ui32} (%a: tensor<64x4xf32>, %b: tensor<64x4xf32>, %s: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.add %s, %d : tensor<4x4xf32>
    mpmd.return %e : tensor<4x4xf32>
  } : (!mpmd.mesh_tensor<"m0", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>
  %f1 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x1, %w0) {call_counter = 1 : ui32} (%a: tensor<8x4xf32>, %b: tensor<4x4xf32>) {
    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    mpmd.return %c : tensor<8x4xf32>
  } : (!mpmd.mesh_tensor<"m0", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<8x4xf32>>
  %t1 = mpmd.transfer %f1 : (!mpmd.mesh_tensor<"m0", tensor<8x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<8x4xf32>>
  %g1:2 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%t1, %w1, %g0#1) {call_counter = 1 : ui32} (%a: tensor<8x4xf32>, %b: tensor<4x4xf32>, %s: tensor<4x4xf32>) {
    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %d = stablehlo.dot_general %a, %c, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.add %s, %d : tensor<4x4xf32>
    mpmd.return %c, %e : tensor<8x4xf32>, tensor<4x4xf32>
  } : (!mpmd.mesh_tensor<"m1", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> (!mpmd.mesh_tensor<"m1", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>)
  %u1 = mpmd.transfer %g1#0 : (!mpmd.mesh_tensor<"m1", tensor<8x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<8x4xf32>>
  %h1 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%u1, %x1, %h0) {call_counter = 1 : ui32} (%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %s: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.add %s, %d : tensor<4x4xf32>
    mpmd.return %e : tensor<4x4xf32>
  } : (!mpmd.mesh_tensor<"m0", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>
  return %h1, %g1#1 : !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
}

//--- state.mlir
#topology = #mpmd.topology<<"m0": <["x"=1]>>, <"m1": <["x"=1]>>>
func.func @main(%w0: !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, %w1: !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, %zero: !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, %zero0: !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, %x0: !mpmd.mesh_tensor<"m0", tensor<64x4xf32>>, %x1: !mpmd.mesh_tensor<"m0", tensor<8x4xf32>>)
  -> (!mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) attributes {topology = #topology} {
  %f0:2 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x0, %w0) {call_counter = 0 : ui32} (%a: tensor<64x4xf32>, %b: tensor<4x4xf32>) {
    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x4xf32>, tensor<4x4xf32>) -> tensor<64x4xf32>
    %d = stablehlo.negate %b : tensor<4x4xf32>
    mpmd.return %c, %d : tensor<64x4xf32>, tensor<4x4xf32>
  } : (!mpmd.mesh_tensor<"m0", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> (!mpmd.mesh_tensor<"m0", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>)
  %t0 = mpmd.transfer %f0#0 : (!mpmd.mesh_tensor<"m0", tensor<64x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<64x4xf32>>
  %g0:2 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%t0, %w1, %zero) {call_counter = 0 : ui32} (%a: tensor<64x4xf32>, %b: tensor<4x4xf32>, %s: tensor<4x4xf32>) {
    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x4xf32>, tensor<4x4xf32>) -> tensor<64x4xf32>
    %d = stablehlo.dot_general %a, %c, contracting_dims = [0] x [0] : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.add %s, %d : tensor<4x4xf32>
    mpmd.return %c, %e : tensor<64x4xf32>, tensor<4x4xf32>
  } : (!mpmd.mesh_tensor<"m1", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> (!mpmd.mesh_tensor<"m1", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>)
  %u0 = mpmd.transfer %g0#0 : (!mpmd.mesh_tensor<"m1", tensor<64x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<64x4xf32>>
  %h0 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%u0, %x0, %zero0) {call_counter = 0 : ui32} (%a: tensor<64x4xf32>, %b: tensor<64x4xf32>, %s: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.add %s, %d : tensor<4x4xf32>
    mpmd.return %e : tensor<4x4xf32>
  } : (!mpmd.mesh_tensor<"m0", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<64x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>
  %f1:2 = mpmd.fragment<mesh="m0", origin=["f"], stage=0> (%x1, %f0#1) {call_counter = 1 : ui32} (%a: tensor<8x4xf32>, %b: tensor<4x4xf32>) {
    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %d = stablehlo.negate %b : tensor<4x4xf32>
    mpmd.return %c, %d : tensor<8x4xf32>, tensor<4x4xf32>
  } : (!mpmd.mesh_tensor<"m0", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> (!mpmd.mesh_tensor<"m0", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>)
  %t1 = mpmd.transfer %f1#0 : (!mpmd.mesh_tensor<"m0", tensor<8x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<8x4xf32>>
  %g1:2 = mpmd.fragment<mesh="m1", origin=["g"(1)], stage=1> (%t1, %w1, %g0#1) {call_counter = 1 : ui32} (%a: tensor<8x4xf32>, %b: tensor<4x4xf32>, %s: tensor<4x4xf32>) {
    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %d = stablehlo.dot_general %a, %c, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.add %s, %d : tensor<4x4xf32>
    mpmd.return %c, %e : tensor<8x4xf32>, tensor<4x4xf32>
  } : (!mpmd.mesh_tensor<"m1", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> (!mpmd.mesh_tensor<"m1", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>)
  %u1 = mpmd.transfer %g1#0 : (!mpmd.mesh_tensor<"m1", tensor<8x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<8x4xf32>>
  %h1 = mpmd.fragment<mesh="m0", origin=["f"(1)], stage=0> (%u1, %x1, %h0) {call_counter = 1 : ui32} (%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %s: tensor<4x4xf32>) {
    %d = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %e = stablehlo.add %s, %d : tensor<4x4xf32>
    mpmd.return %e : tensor<4x4xf32>
  } : (!mpmd.mesh_tensor<"m0", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<8x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>
  return %h1, %g1#1 : !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
}
