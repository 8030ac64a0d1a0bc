// A function that two meshes run is a fragment on each of them.
// RUN: meshwright simulate %s --device h100 --json --items | FileCheck %s
// CHECK:     "items": [
// CHECK:      "mesh": "m1",
// CHECK-NEXT: "kind": "other",
// CHECK-NEXT: "name": "f",
// CHECK:      "kind": "transfer",
// CHECK:      "mesh": "m2",
// CHECK-NEXT: "kind": "other",
// CHECK-NEXT: "name": "f",
// CHECK:      "mesh": "m2",
// CHECK-NEXT: "kind": "other",
// CHECK-NEXT: "name": "f",
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @main(%a: !m1) -> (!m1, !m2) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>} {
  %0 = mpmd.fragment_call<mesh="m1", origin=[]> @f(%a) : (!m1) -> !m1
  %1 = mpmd.transfer %a : (!m1) -> !m2
  %2 = mpmd.fragment_call<mesh="m2", origin=[]> @f(%1) : (!m2) -> !m2
  %3 = mpmd.fragment_call<mesh="m2", origin=[]> @f(%2) : (!m2) -> !m2
  return %0, %3 : !m1, !m2
}
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
