// Values of 2^61 bytes each, together more than can be counted.
// RUN: meshwright simulate %s --device h100 | FileCheck %s
// CHECK: critical path

!huge = !mpmd.mesh_tensor<"m1", tensor<576460752303423488xf32>>
func.func @main(%x: !huge, %y: !huge, %z: !huge, %u: !huge, %v: !huge) -> !huge attributes {topology = #mpmd.topology<<"m1": <["x"=1]>>>} {
  %0 = mpmd.fragment_call<mesh="m1", origin=[]> @p0_f(%x, %y, %z, %u, %v) : (!huge, !huge, !huge, !huge, !huge) -> !huge
  return %0 : !huge
}
func.func @p0_f(%x: tensor<576460752303423488xf32>, %y: tensor<576460752303423488xf32>, %z: tensor<576460752303423488xf32>, %u: tensor<576460752303423488xf32>, %v: tensor<576460752303423488xf32>) -> tensor<576460752303423488xf32> attributes {mesh_shape = #sdy.mesh<["x"=1]>} {
  %0 = stablehlo.add %x, %y : tensor<576460752303423488xf32>
  return %0 : tensor<576460752303423488xf32>
}
