// RUN: mpmd-opt %s -mpmd-pipeline-scheduler=must-happen-before=GPipe | FileCheck %s
// RUN: mpmd-opt %s -mpmd-rule-based-schedule='rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["f"],call_counter=0,mesh_name="m0")->FragmentInfo(origins=["f"],call_counter=1,mesh_name="m0")->FragmentInfo(origins=["f"(1)],call_counter=0,mesh_name="m0")->FragmentInfo(origins=["f"(1)],call_counter=1,mesh_name="m0")])' | FileCheck %s

!t = tensor<f32>
!m0 = !mpmd.mesh_tensor<"m0", tensor<f32>>
#topology = #mpmd.topology<<"m0": <["x"=2]>>>

// The second forward fragment may not overtake the first backward one. What has
// no effects follows the schedule.
// CHECK-LABEL: func @effects_keep_their_order
// CHECK:       @first
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 0
// CHECK-NEXT:  @second
// CHECK:       origin=["f"]> {{.*}}call_counter = 1
// CHECK-NEXT:  @third
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 1
func.func @effects_keep_their_order(%x: !m0) -> (!m0, !m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    %c = stablehlo.custom_call @first(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    %c = stablehlo.custom_call @second(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    %c = stablehlo.custom_call @third(%a) {has_side_effect = true} : (!t) -> !t
    mpmd.return %c : !t
  } : (!m0) -> !m0
  %3 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    mpmd.return %a : !t
  } : (!m0) -> !m0
  return %0, %1, %2, %3 : !m0, !m0, !m0, !m0
}

// JAX promises no order for callbacks that it lowers without a token, such as those of
// jax.debug.print in a layer that is recomputed. Those with a token keep theirs.
// CHECK-LABEL: func @callbacks_without_a_token_follow_the_schedule
// CHECK:       origin=["f"]> {{.*}}call_counter = 0
// CHECK:       origin=["f"]> {{.*}}call_counter = 1
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 0
func.func @callbacks_without_a_token_follow_the_schedule(%x: !m0) -> (!m0, !m0, !m0) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) {has_side_effect = true} : (!t) -> ()
    mpmd.return %a : !t
  } : (!m0) -> !m0
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    stablehlo.custom_call @xla_ffi_partitioned_python_gpu_callback(%a) {has_side_effect = true} : (!t) -> ()
    mpmd.return %a : !t
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) {has_side_effect = true} : (!t) -> ()
    mpmd.return %a : !t
  } : (!m0) -> !m0
  return %0, %1, %2 : !m0, !m0, !m0
}

// CHECK-LABEL: func @callbacks_with_a_token_keep_their_order
// CHECK:       origin=["f"(1)]> {{.*}}call_counter = 0
// CHECK:       origin=["f"]> {{.*}}call_counter = 1
func.func @callbacks_with_a_token_keep_their_order(%x: !m0) -> (!m0, !m0) attributes {topology = #topology} {
  %1 = mpmd.fragment<mesh="m0", origin=["f"(1)]> (%x) {call_counter = 0 : ui32} (%a: !t) {
    %k = stablehlo.create_token : !stablehlo.token
    %l = stablehlo.custom_call @xla_ffi_python_cpu_callback(%k, %a) {has_side_effect = true} : (!stablehlo.token, !t) -> !stablehlo.token
    mpmd.return %a : !t
  } : (!m0) -> !m0
  %2 = mpmd.fragment<mesh="m0", origin=["f"]> (%x) {call_counter = 1 : ui32} (%a: !t) {
    %k = stablehlo.create_token : !stablehlo.token
    %l = stablehlo.custom_call @xla_ffi_python_cpu_callback(%k, %a) {has_side_effect = true} : (!stablehlo.token, !t) -> !stablehlo.token
    mpmd.return %a : !t
  } : (!m0) -> !m0
  return %1, %2 : !m0, !m0
}
