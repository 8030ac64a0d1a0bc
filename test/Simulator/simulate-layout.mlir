// An array in a layout that the user chose is as large as a TPU keeps it there: 256
// rows of 96 numbers, padded to 128, and not 96 rows of 256. It goes on to another
// mesh in that layout.
// RUN: meshwright simulate %s --device tpu-v5e --json | FileCheck %s
// CHECK:      "m1": {
// CHECK:      "peak_bytes": 262144,
// CHECK:      "m2": {
// CHECK:      "peak_bytes": 229376,

!m1 = !mpmd.mesh_tensor<"m1", tensor<96x256xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<96x256xf32>>
func.func @main(%x: !m1 {mhlo.layout_mode = "{0,1}"}) -> !m2 attributes {topology = #mpmd.topology<<"m1": <["x"=1]>>, <"m2": <["x"=1]>>>} {
  %0 = mpmd.fragment_call<mesh="m1", origin=[]> @f(%x) : (!m1) -> !m1
  %1 = mpmd.transfer %0 : (!m1) -> !m2
  %2 = mpmd.fragment_call<mesh="m2", origin=[]> @g(%1) : (!m2) -> !m2
  return %2 : !m2
}
func.func @f(%x: tensor<96x256xf32> {mhlo.layout_mode = "{0,1}"}) -> (tensor<96x256xf32> {mhlo.layout_mode = "{0,1}"}) attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
  %0 = stablehlo.tanh %x : tensor<96x256xf32>
  return %0 : tensor<96x256xf32>
}
func.func @g(%x: tensor<96x256xf32> {mhlo.layout_mode = "{0,1}"}) -> tensor<96x256xf32> attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
  %0 = stablehlo.tanh %x : tensor<96x256xf32>
  return %0 : tensor<96x256xf32>
}
