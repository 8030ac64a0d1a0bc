// RUN: mpmd-opt %s -mlir-print-op-generic | FileCheck %s
// RUN: mpmd-opt %s -mlir-print-op-generic | mpmd-opt | mpmd-opt -mlir-print-op-generic | FileCheck %s

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK: sym_name = "inherent_attributes_are_properties"
func.func @inherent_attributes_are_properties(%x: !m1, %y: tensor<4xf32>) -> !m2 attributes {topology = #topology} {
  // CHECK:      "mpmd.fragment"(%{{.*}}) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{}]>]>, mesh_name = "m1", origin = [#mpmd.user_origin<"f">, #mpmd.user_origin<"g"(2)>], stage_id = 3 : i64}> ({
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4xf32>):
  // CHECK-NEXT:   "mpmd.return"(%[[A]]) : (tensor<4xf32>) -> ()
  // CHECK-NEXT: }) {kept} : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
  %0 = mpmd.fragment<mesh="m1", origin=["f", "g"(2)], stage=3, in_shardings=[<@mesh, [{}]>]> (%x) {kept} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m1) -> !m1
  // CHECK: "mpmd.fragment_call"(%{{.*}}) <{callee = @p0_f, mesh_name = "m1", origin = [#mpmd.user_origin<"f">]}> :
  %1 = mpmd.fragment_call<mesh="m1", origin=["f"]> @p0_f(%0) : (!m1) -> !m1
  // CHECK: "mpmd.call"(%{{.*}}) <{callee = @body}> {call_counter = 0 : ui32} :
  %2 = mpmd.call @body(%1) {call_counter = 0 : ui32} : (!m1) -> !m1
  // CHECK: "mpmd.assign"(%{{.*}}) <{origin = "f"}> {kept} :
  %3 = mpmd.assign {origin = "f", kept} %y : (tensor<4xf32>) -> !m1
  // CHECK: "mpmd.unassign"(%{{.*}}) <{origin = "g"}> :
  %4 = mpmd.unassign {origin = "g"} %3 : (!m1) -> tensor<4xf32>
  // CHECK: "mpmd.named_tensor"(%{{.*}}) <{name = "t"}> :
  %5 = mpmd.named_tensor %4 name="t" : tensor<4xf32>
  // CHECK: "mpmd.named_computation"(%{{.*}}) <{origin = #mpmd.user_origin<"n"(1)>}> ({
  %6 = mpmd.named_computation<"n"(1)> (%5) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "mpmd.for"(%{{.*}}) <{iterations = 4 : ui32, unroll_factor = 2 : ui32}> ({
  %7 = mpmd.for (%6) {iterations = 4 : ui32, unroll_factor = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
    mpmd.return %a : tensor<4xf32>
  // CHECK: }) : (tensor<4xf32>) -> tensor<4xf32>
  } : tensor<4xf32>
  // CHECK: "mpmd.broadcast"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %8 = mpmd.broadcast %7 : tensor<4xf32>
  // CHECK: "mpmd.reduce"(%{{.*}}) <{reduction = #mpmd.reduction<none>}> :
  %9 = mpmd.reduce<none> %8 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "mpmd.transfer"(%{{.*}}) {kept} :
  %10 = mpmd.transfer {kept} %2 : (!m1) -> !m2
  return %10 : !m2
}
func.func @p0_f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<4xf32>
}
func.func private @body(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
}
