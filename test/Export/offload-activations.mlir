// RUN: mpmd-opt %s '-mpmd-offload-activations=bound=auto device=h100 custom-costs="work=flops:1e10"' | FileCheck %s
// RUN: mpmd-opt %s '-mpmd-offload-activations=bound=10MB device=h100 custom-costs="work=flops:1e10"' | FileCheck %s --check-prefix=ENOUGH
// RUN: mpmd-opt %s -mpmd-offload-activations | FileCheck %s --check-prefix=ENOUGH
// RUN: mpmd-opt %s '-mpmd-offload-activations=bound=auto device=h100 custom-costs="work=flops:1e10"' --remarks-filter=offload --remark-policy=all --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

!l = tensor<128x1024xf32>
!m = !mpmd.mesh_tensor<"m", tensor<128x1024xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<128x1024xf32>>
#topology = #mpmd.topology<<"m": <["x"=1]>>, <"n": <["x"=1]>>>

// A copy takes 8 us, and a step 27: a value has left when the next step but one begins,
// and begins to come back with the step before the one that reads it. All is sent that
// leaves the most crowded step, after what others wait for.
// ENOUGH-NOT: pinned_host
// REMARK: remark: [Passed] offloaded {{.*}} holds {{.*}}2621440{{.*}} bytes instead of {{.*}}3145728{{.*}}524288{{.*}} wait on the host
// REMARK: remark: [Missed] offloaded {{.*}} keeps its activations
// CHECK-LABEL: func @first_stage
// CHECK:         %[[F0:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         mpmd.transfer %[[F0]]#1 {{.*}} -> !mpmd.mesh_tensor<"n"
// CHECK-NEXT:    %[[H0:.*]] = mpmd.transfer {mpmd.beside = 1 : i64} %[[F0]]#0 : {{.*}} -> !mpmd.mesh_tensor<"m", tensor<128x1024xf32>, memory_kind="pinned_host">
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         %[[D0:.*]] = mpmd.transfer {mpmd.delayed} %[[H0]] : (!mpmd.mesh_tensor<"m", tensor<128x1024xf32>, memory_kind="pinned_host">) -> !mpmd.mesh_tensor<"m", tensor<128x1024xf32>>
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"(1)]>
// CHECK:         mpmd.fragment<mesh="m", origin=["f"(1)]> (%[[D0]])
func.func @first_stage(%x: !m, %y: !n) -> (!m, !n) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
    %w = stablehlo.custom_call @work(%a) : (!l) -> !l
    mpmd.return %w, %a : !l, !l
  } : (!m) -> (!m, !m)
  %t0 = mpmd.transfer %0#1 : (!m) -> !n
  %1:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
    %w = stablehlo.custom_call @work(%a) : (!l) -> !l
    mpmd.return %w, %a : !l, !l
  } : (!m) -> (!m, !m)
  %2:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
    %w = stablehlo.custom_call @work(%a) : (!l) -> !l
    mpmd.return %w, %a : !l, !l
  } : (!m) -> (!m, !m)
  %3:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
    %w = stablehlo.custom_call @work(%a) : (!l) -> !l
    mpmd.return %w, %a : !l, !l
  } : (!m) -> (!m, !m)
  %n0 = mpmd.fragment<mesh="n", origin=["g"]> (%t0) (%a: !l) {
    %w = stablehlo.custom_call @work(%a) : (!l) -> !l
    mpmd.return %w : !l
  } : (!n) -> !n
  %n1 = mpmd.fragment<mesh="n", origin=["g"(1)]> (%n0) (%a: !l) {
    %w = stablehlo.custom_call @work(%a) : (!l) -> !l
    mpmd.return %w : !l
  } : (!n) -> !n
  %4 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%3#0) (%a: !l) {
    %w = stablehlo.custom_call @work(%a) : (!l) -> !l
    mpmd.return %w : !l
  } : (!m) -> !m
  %5 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%2#0) (%a: !l) {
    %w = stablehlo.custom_call @work(%a) : (!l) -> !l
    mpmd.return %w : !l
  } : (!m) -> !m
  %6 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%1#0) (%a: !l) {
    %w = stablehlo.custom_call @work(%a) : (!l) -> !l
    mpmd.return %w : !l
  } : (!m) -> !m
  %7 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%0#0) (%a: !l) {
    %w = stablehlo.custom_call @work(%a) : (!l) -> !l
    mpmd.return %w : !l
  } : (!m) -> !m
  return %7, %n1 : !m, !n
}
