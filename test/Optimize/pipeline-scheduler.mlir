// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=GPipe | FileCheck %s --check-prefixes=CHECK,GPIPE
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler | FileCheck %s --check-prefixes=CHECK,ALTERNATE
// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=none | FileCheck %s --check-prefixes=CHECK,ALTERNATE

!m0 = !mpmd.mesh_tensor<"m0", tensor<4xf32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// CHECK-LABEL: func @orders_units_of_one_mesh
// GPIPE:       origin=["f"]> {{.*}}call_counter = 0
// GPIPE:       origin=["f"]> {{.*}}call_counter = 1
// GPIPE:       origin=["f"(1)]> {{.*}}call_counter = 0
// GPIPE:       origin=["f"(1)]> {{.*}}call_counter = 1
// ALTERNATE:   origin=["f"]> {{.*}}call_counter = 0
// ALTERNATE:   origin=["f"(1)]> {{.*}}call_counter = 0
// ALTERNATE:   origin=["f"]> {{.*}}call_counter = 1
// ALTERNATE:   origin=["f"(1)]> {{.*}}call_counter = 1
func.func @orders_units_of_one_mesh(%x: !m0) -> (!m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m0) -> !m0
  return %0, %1, %2, %3 : !m0, !m0, !m0, !m0
}

// CHECK-LABEL: func @leaves_functions_without_topology_alone
func.func @leaves_functions_without_topology_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return
  return %x : tensor<4xf32>
}
