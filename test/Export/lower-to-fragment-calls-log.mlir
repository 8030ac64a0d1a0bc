// RUN: mpmd-opt %s -mpmd-lower-to-fragment-calls=verbose-logging=true -split-input-file -o /dev/null 2>&1 | FileCheck %s

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<4xf32>>
#topology = #mpmd.topology<<"pb": <["x"=2]>>, <"pa": <["x"=2]>>>

// CHECK:      Module jit_step on mesh pb will execute {{.*}}:
// CHECK-NEXT: {{^ +}}- p0_stage2_fwd_call0.step from program with origins [f(fwd)], stage 2, call counter 0
// CHECK-NEXT: Module jit_step on mesh pa will execute {{.*}}:
// CHECK-NEXT: {{^ +}}- p1_f..._fwd_bwd_transpose2.step from program with origins [f(bwd), g(fwd), h(TransposeCount=2)]
// CHECK-NEXT: {{^ +}}- p1_f..._fwd_bwd_transpose2.step from program with origins []
// CHECK-NOT:  {{.}}
module @jit_step {
func.func @main(%a: !pa, %b: !pb) -> (!pb, !pa, !pa) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pb", origin=["f"], stage=2> (%b) {call_counter = 0 : ui32} (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pb) -> !pb
  %1 = mpmd.fragment<mesh="pa", origin=["f"(1), "g", "h"(2)]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  %2 = mpmd.fragment<mesh="pa", origin=[]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  return %0, %1, %2 : !pb, !pa, !pa
}
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>, <"idle": <["x"=2]>>>

// CHECK:      Module main on mesh pa will execute {{.*}}:
// CHECK-NEXT: {{^ +}}- p0_f....main from program with origins [f, g]
// CHECK-NEXT: Module main on mesh idle will execute {{.*}}:
// CHECK-NOT:  {{.}}
func.func @main(%a: !pa) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pa", origin=["f", "g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>>

// Says nothing without a main function.
// CHECK-NOT: {{.}}
func.func @step(%a: !pa) -> !pa attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="pa", origin=["f", "g"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!pa) -> !pa
  return %0 : !pa
}
