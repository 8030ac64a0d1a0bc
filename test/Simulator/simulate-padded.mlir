// Two convolutions with 64 channels. A TPU pads these to the 128 columns of a tile,
// and so needs twice the memory for each array. The compiler of v5e, in libtpu 0.0.42.1,
// says 25837568 bytes of arguments, of which the kernel is 147456, 25690112 of results, and
// no temporaries: what is between the convolutions stays on the chip.
// RUN: meshwright simulate %s --device h100 --json | FileCheck %s --check-prefix=DENSE
// RUN: meshwright simulate %s --device tpu-v5e --json | FileCheck %s --check-prefix=TILES
// DENSE: "peak_bytes": 38608896,
// TILES: "peak_bytes": 51527680,

!x = !mpmd.mesh_tensor<"m", tensor<32x56x56x64xbf16>>
!k = !mpmd.mesh_tensor<"m", tensor<3x3x64x64xbf16>>
func.func @main(%x: !x, %k: !k) -> !x attributes {topology = #mpmd.topology<<"m": <["x"=1]>>>} {
  %0 = mpmd.fragment_call<mesh="m", origin=[]> @f(%x, %k) : (!x, !k) -> !x
  return %0 : !x
}
func.func @f(%x: tensor<32x56x56x64xbf16>, %k: tensor<3x3x64x64xbf16>) -> tensor<32x56x56x64xbf16> attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<32x56x56x64xbf16>, tensor<3x3x64x64xbf16>) -> tensor<32x56x56x64xbf16>
  %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<32x56x56x64xbf16>, tensor<3x3x64x64xbf16>) -> tensor<32x56x56x64xbf16>
  return %1 : tensor<32x56x56x64xbf16>
}
