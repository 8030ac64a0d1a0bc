// RUN: mpmd-opt %s -mpmd-lower-to-fragment-calls -split-input-file | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// Origins that differ in their number only count together; the family of most
// origins wins, of several the first in alphabetical order.
// CHECK-LABEL: module @jit_m
// CHECK-LABEL: func @popular_name_has_range_of_counters
// CHECK-NEXT:    {{.*}} @"p0_lyr_4:5....m"(
// CHECK-NEXT:    {{.*}} @p1_lyr.m(
// CHECK-NEXT:    {{.*}} @p2_lyr_4.m(
// CHECK-NEXT:    {{.*}} @p3_a_2....m(
// CHECK-NEXT:    {{.*}} @"p4_lyr_2:9.m"(
// CHECK-NEXT:    {{.*}} @"p5_a_1_2:3.m"(
// CHECK-NEXT:    {{.*}} @p6__4.m(
// CHECK-NEXT:    {{.*}} @"p7_a_1:7.m"(
module @jit_m {
func.func @popular_name_has_range_of_counters(%a: !m) attributes {topology = #topology} {
  mpmd.fragment<mesh="m", origin=["lyr_4", "lyr_5", "head"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 0} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["lyr"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 1} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["lyr", "lyr_4"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 2} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["b_1", "a_2", "c"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 3} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["lyr_9", "lyr_2", "lyr_4"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 4} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a_1_2", "a_1_3"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 5} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["_4"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 6} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a_007", "a_1"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 7} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  return
}
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// What follows the last underscore must be a number that fits 64 bits.
// CHECK-LABEL: module @jit_m
// CHECK-LABEL: func @only_numbers_are_counters
// CHECK-NEXT:    {{.*}} @p0_a_1....m(
// CHECK-NEXT:    {{.*}} @p1_a_1....m(
// CHECK-NEXT:    {{.*}} @"p2_a_-3:1.m"(
// CHECK-NEXT:    {{.*}} @"p3_a_1:9999999999.m"(
// CHECK-NEXT:    {{.*}} @p4_a_1....m(
module @jit_m {
func.func @only_numbers_are_counters(%a: !m) attributes {topology = #topology} {
  mpmd.fragment<mesh="m", origin=["a_", "a_1"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 0} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a_0x3", "a_1"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 1} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a_-3", "a_1"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 2} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a_9999999999", "a_1"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 3} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a_99999999999999999999", "a_1"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 4} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  return
}
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// One transposed origin in the module gives all names a phase, but none to
// fragments without origins.
// CHECK-LABEL: module @jit_m
// CHECK-LABEL: func @phases_are_named_unless_all_is_forward
// CHECK-NEXT:    {{.*}} @"p0_lyr_4:3_bwd.m"(
// CHECK-NEXT:    {{.*}} @p1_a..._fwd_transpose2.m(
// CHECK-NEXT:    {{.*}} @p2_stage7_bwd.m(
// CHECK-NEXT:    {{.*}} @p3_inferred.m(
// CHECK-NEXT:    {{.*}} @p4_stage3.m(
// CHECK-NEXT:    {{.*}} @p5_f_fwd.m(
// CHECK-NEXT:    {{.*}} @p6_a..._fwd_bwd_transpose2.m(
// CHECK-NEXT:    {{.*}} @"p7_a_1:3_fwd_bwd.m"(
// CHECK-NEXT:    {{.*}} @"p8_a_3:1..._bwd.m"(
// CHECK-NEXT:    {{.*}} @"p9_a_1:3_transpose2.m"(
module @jit_m {
func.func @phases_are_named_unless_all_is_forward(%a: !m) attributes {topology = #topology} {
  mpmd.fragment<mesh="m", origin=["lyr_4"(1), "lyr_3"(1)]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 0} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a", "b"(2)]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 1} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a"(1)], stage=7> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 2} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=[]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 3} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=[], stage=3> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 4} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 5} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a"(2), "a"(1), "b"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 6} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a_3"(1), "a_1"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 7} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a_3"(1), "a_1"(1), "b"(1)]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 8} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["a_3"(2), "a_1"(2)]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 9} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  return
}
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// Consecutive calls of one site are named, in the order of the program.
// CHECK-LABEL: module @jit_m
// CHECK-LABEL: func @calls_are_named_if_consecutive
// CHECK-NEXT:    {{.*}} @p0_s_calls4to6.m(
// CHECK-NEXT:    {{.*}} @p0_s_calls4to6.m(
// CHECK-NEXT:    {{.*}} @p0_s_calls4to6.m(
// CHECK-NEXT:    {{.*}} @p1_s.m(
// CHECK-NEXT:    {{.*}} @p1_s.m(
// CHECK-NEXT:    {{.*}} @p1_s.m(
// CHECK-NEXT:    {{.*}} @p2_s_call3.m(
// CHECK-NEXT:    {{.*}} @p3_s_calls6from5.m(
// CHECK-NEXT:    {{.*}} @p3_s_calls6from5.m(
// CHECK-NEXT:    {{.*}} @p4_s.m(
// CHECK-NEXT:    {{.*}} @p4_s.m(
// CHECK-NEXT:    {{.*}} @p5_s.m(
// CHECK-NEXT:    {{.*}} @p5_s.m(
// CHECK-NEXT:    {{.*}} @p6_s.m(
// CHECK-NEXT:    {{.*}} @p6_s.m(
// CHECK-NEXT:    {{.*}} @p7_stage2_calls8to9.m(
// CHECK-NEXT:    {{.*}} @p7_stage2_calls8to9.m(
module @jit_m {
func.func @calls_are_named_if_consecutive(%a: !m) attributes {topology = #topology} {
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 4 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 0} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 5 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 0} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 6 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 0} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 4 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 1} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 6 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 1} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 5 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 1} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 3 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 2} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 6 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 3} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 5 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 3} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 4 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 4} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 4} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 4 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 5} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["t"]> (%a) {call_counter = 5 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 5} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 4 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 6} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"]> (%a) {call_counter = 4 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 6} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["s"], stage=2> (%a) {call_counter = 8 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 7} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["u", "v"], stage=2> (%a) {call_counter = 9 : ui32} (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 7} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  return
}
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// A name of up to 200 characters stays; of a longer one 195 are left.
// CHECK-LABEL: module @m
// CHECK-LABEL: func @long_names_are_cut_before_the_module
// CHECK-NEXT:    {{.*}} @p0_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz.m(
// CHECK-NEXT:    {{.*}} @"p1_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz<...>.m"(
module @m {
func.func @long_names_are_cut_before_the_module(%a: !m) attributes {topology = #topology} {
  mpmd.fragment<mesh="m", origin=["zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 0} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  mpmd.fragment<mesh="m", origin=["zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 1} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  return
}
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// Only the start of a module's name is dropped; without a name it is main.
// CHECK-LABEL: func @unnamed_module_is_main
// CHECK-NEXT:    {{.*}} @p0_f.main(
func.func @unnamed_module_is_main(%a: !m) attributes {topology = #topology} {
  mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 0} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  return
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: module @my_jit_m
// CHECK-LABEL: func @keeps_jit_within_a_name
// CHECK-NEXT:    {{.*}} @p0_f.my_jit_m(
module @my_jit_m {
func.func @keeps_jit_within_a_name(%a: !m) attributes {topology = #topology} {
  mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %c = stablehlo.constant {body = 0} dense<0.0> : tensor<4xf32>
    mpmd.return
  } : (!m) -> ()
  return
}
}
