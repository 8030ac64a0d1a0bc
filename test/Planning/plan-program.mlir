// The layers of a program are its named computations; the configuration that
// comes of them is one for the program.
// RUN: meshwright plan %s --device cpu --devices 2 -o %t.json | FileCheck %s
// RUN: meshwright partition %s --config %t.json -o %t.out | FileCheck %s --check-prefix=OUT
// RUN: meshwright plan %s --device cpu --devices 1 --cost 'big=flops:1e12*b' | FileCheck %s --check-prefix=COST

// Two weights of 64 by 64, and 7 by 64 numbers that the layers keep: a TPU pads both.
// RUN: meshwright plan %s --device h100 --devices 1 --json | FileCheck %s --check-prefix=DENSE
// RUN: meshwright plan %s --device tpu-v5e --devices 1 --json | FileCheck %s --check-prefix=TILES
// DENSE: "peak_bytes": 34560,
// TILES: "peak_bytes": 69632,

// CHECK:      2 meshes of 1 (data) x 1 (tensor), 1F1B, 1 microbatch{{$}}
// CHECK:      stage 0 on mesh0: enc
// CHECK-NEXT: stage 1 on mesh1: dec to out
// CHECK:      not counted: custom call big; say --cost 'big=flops:...'

// COST-LABEL: 1 mesh of
// COST-NEXT:  step 86.{{[0-9]+}} s
// COST-NOT:   not counted

// OUT:      mesh0 1 1
// OUT-NEXT: mesh1 1 1
// OUT:      custom calls and loops of unknown work are not in FLOPs: custom calls big
func.func @main(%x: tensor<7x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>) -> tensor<7x64xf32> {
  %0 = mpmd.named_computation<"enc"> (%x, %w) (%a: tensor<7x64xf32>, %b: tensor<64x64xf32>) {
    %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<7x64xf32>, tensor<64x64xf32>) -> tensor<7x64xf32>
    mpmd.return %2 : tensor<7x64xf32>
  } : (tensor<7x64xf32>, tensor<64x64xf32>) -> tensor<7x64xf32>
  %1 = mpmd.named_computation<"dec"> (%0, %v) (%a: tensor<7x64xf32>, %b: tensor<64x64xf32>) {
    %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<7x64xf32>, tensor<64x64xf32>) -> tensor<7x64xf32>
    mpmd.return %2 : tensor<7x64xf32>
  } : (tensor<7x64xf32>, tensor<64x64xf32>) -> tensor<7x64xf32>
  %3 = mpmd.named_computation<"out"> (%1) (%a: tensor<7x64xf32>) {
    %2 = stablehlo.custom_call @big(%a) : (tensor<7x64xf32>) -> tensor<7x64xf32>
    mpmd.return %2 : tensor<7x64xf32>
  } : (tensor<7x64xf32>) -> tensor<7x64xf32>
  return %3 : tensor<7x64xf32>
}
