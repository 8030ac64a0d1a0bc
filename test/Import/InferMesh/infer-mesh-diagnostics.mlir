// RUN: not mpmd-opt %s -mpmd-infer-mesh-pipeline -split-input-file 2>&1 | FileCheck %s

// What puts an operand where it is, and where that was written.

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK:      error: Mesh assignment is not possible for op as its operands are on conflicting meshes.
// CHECK-NEXT: mpmd_infer_transfers
// CHECK:      stablehlo.power
// CHECK:      Operand 0 is available on {m1}. It comes from:
// CHECK-NEXT: - named_computation "enc": m1[enc]
// CHECK-SAME:   loc("step/named_computation"("model.py":7:3))
// CHECK:      Operand 1 is available on {m2}. It comes from:
// CHECK-NEXT: - named_tensor "act": m2[act]
// CHECK-NEXT: model.py:9:2 to
// CHECK-NEXT: ^ "named_tensor"
// CHECK-NEXT: train.py:30:4 to
// CHECK:      The op is used in {}. Its results go to:
// CHECK-NEXT: - Output "result 0":
func.func @from_computations_and_tensors(%a: !m1, %b: !m2) -> (!t {jax.result_info = "result 0"}) attributes {topology = #topology} {
  %u = mpmd.unassign {origin = "enc"} %a : (!m1) -> !t loc("step/named_computation"("model.py":7:3))
  %v = mpmd.unassign {origin = "act"} %b : (!m2) -> !t loc(callsite("named_tensor"("model.py":9:2) at callsite("train.py":30:4 at "main.py":1:1)))
  %0 = stablehlo.power %u, %v : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK:      error: Mesh assignment is not possible for op as it is used in {m2} but it can only be placed on {m1}
// CHECK:      It can only be placed on {m1}, where its operands come from:
// CHECK-NEXT: - Input "weights": m1[user_in]
// CHECK:      It is used in {m2}. Its operands go to:
// CHECK-NEXT: - named_computation "dec": m2[dec]
func.func @from_inputs_to_computations(%a: !m1) -> !m2 attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="m1", origin=["f"]> (%a) (%p: !t) {
    mpmd.return %p : !t
  } : (!m1) -> !m1
  %u = mpmd.unassign {origin = "user_in"} %f : (!m1) -> !t loc("weights")
  %0 = stablehlo.sine %u : !t
  %1 = mpmd.assign {origin = "dec"} %0 : (!t) -> !m2 loc("named_computation")
  return %1 : !m2
}

// -----

!t = tensor<4xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>

// CHECK:      error: Mesh assignment is not possible for op as its operands are on conflicting meshes.
// CHECK:      The op is used in {}. Its results go to:
// CHECK-NEXT: - Output "end of step":
func.func @to_the_return_where_a_result_has_no_name(%a: !m1, %b: !m2) -> !t attributes {topology = #topology} {
  %u = mpmd.unassign %a : (!m1) -> !t
  %v = mpmd.unassign %b : (!m2) -> !t
  %0 = stablehlo.power %u, %v : !t
  return %0 : !t loc("end of step")
}
