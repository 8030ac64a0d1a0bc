// Names of any bytes are UTF-8 in JSON.
// RUN: meshwright simulate %s --device h100 --compare=1F1B --microbatches 2 --json \
// RUN:   2>/dev/null | FileCheck %s
// CHECK: "peak_mesh": "m\\xFF"
!t = !mpmd.mesh_tensor<"m\FF", tensor<4xf32>>
func.func @main(%a: !t) -> !t attributes {topology = #mpmd.topology<<"m\FF": <["x"=2]>>>} {
  %0 = mpmd.fragment_call<mesh="m\FF", origin=["e"]> @f(%a) : (!t) -> !t
  %1 = mpmd.fragment_call<mesh="m\FF", origin=["e"(1)]> @f(%0) : (!t) -> !t
  return %1 : !t
}
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %a : tensor<4xf32>
}
