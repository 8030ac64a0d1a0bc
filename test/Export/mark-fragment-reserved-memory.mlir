// RUN: mpmd-opt %s -mpmd-mark-fragment-reserved-memory | FileCheck %s

// 384 bytes, or 192 on each device.
!m = !mpmd.mesh_tensor<"m", tensor<12x8xf32>>
!m_r = !mpmd.mesh_tensor<"m", tensor<12x8xf32>, sharding=<@grid, [{"r"}, {}]>>
!n = !mpmd.mesh_tensor<"n", tensor<12x8xf32>>
!s = !mpmd.mesh_tensor<"m", tensor<3xi4>>
!flag = !mpmd.mesh_tensor<"m", tensor<i1>>
!complex = !mpmd.mesh_tensor<"m", tensor<complex<f32>>>
!odd = !mpmd.mesh_tensor<"m", tensor<4x3xf32>, sharding=<@grid, [{"r"}, {}]>>
#topology = #mpmd.topology<<"m": <["r"=2, "c"=4]>>, <"n": <["r"=2, "c"=4]>>>
sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @donated_argument_goes_with_its_last_use_others_stay
// CHECK-NEXT:    fragment<mesh="m", origin=["f"]> {{.*}} {reserved_hbm_bytes = 384 : i64}
// CHECK:         fragment<mesh="m", origin=["g"]> {{.*}} {reserved_hbm_bytes = 384 : i64}
// CHECK:         fragment<mesh="m", origin=["h"]> {{.*}} {reserved_hbm_bytes = 0 : i64}
// CHECK:         fragment<mesh="m", origin=["i"]> {{.*}} {reserved_hbm_bytes = 384 : i64}
func.func @donated_argument_goes_with_its_last_use_others_stay(%a: !m {jax.buffer_donor = true}, %b: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0) (%x: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["h"]> (%1, %b) (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m, !m) -> !m
  %3 = mpmd.fragment<mesh="m", origin=["i"]> (%2) (%x: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m) -> !m
  return %3 : !m
}

// CHECK-LABEL: func @sharded_values_count_with_their_part
// CHECK-NEXT:    fragment<mesh="m", origin=["f"]> {{.*}} {reserved_hbm_bytes = 216 : i64}
func.func @sharded_values_count_with_their_part(%a: !m_r {jax.buffer_donor = true}, %b: !m_r, %c: !odd) -> !m_r attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m_r) -> !m_r
  return %0 : !m_r
}

// An i32 names a result and is no donation; text is.
// CHECK-LABEL: func @aliasing_number_is_no_donation
// CHECK-NEXT:    fragment<mesh="m", origin=["f"]> {{.*}} {reserved_hbm_bytes = 384 : i64}
// CHECK:         fragment<mesh="m", origin=["g"]> {{.*}} {reserved_hbm_bytes = 384 : i64}
// CHECK:         fragment<mesh="m", origin=["h"]> {{.*}} {reserved_hbm_bytes = 384 : i64}
func.func @aliasing_number_is_no_donation(%a: !m {tf.aliasing_output = 0 : i32}, %b: !m {tf.aliasing_output = "0"}) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%b, %0) (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m, !m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["h"]> (%1) (%x: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m) -> !m
  return %2 : !m
}

// CHECK-LABEL: func @unused_argument_counts_unless_donated_unused_result_does_not
// CHECK-NEXT:    fragment<mesh="m", origin=["f"]> {{.*}} {reserved_hbm_bytes = 384 : i64}
// CHECK:         fragment<mesh="m", origin=["g"]> {{.*}} {reserved_hbm_bytes = 384 : i64}
func.func @unused_argument_counts_unless_donated_unused_result_does_not(%a: !m, %b: !m, %c: !m {jax.buffer_donor = true}) -> !m attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<12x8xf32>) {
    mpmd.return %x, %x : tensor<12x8xf32>, tensor<12x8xf32>
  } : (!m) -> (!m, !m)
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0#0, %a) (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m, !m) -> !m
  return %1 : !m
}

// CHECK-LABEL: func @host_memory_does_not_count
// CHECK-NEXT:    fragment<mesh="m", origin=["f"]> {{.*}}reserved_hbm_bytes = 0 : i64
// CHECK:         fragment<mesh="m", origin=["g"]> {{.*}}reserved_hbm_bytes = 384 : i64
// CHECK:         fragment<mesh="m", origin=["h"]> {{.*}}reserved_hbm_bytes = 0 : i64
func.func @host_memory_does_not_count(%a: !m {mhlo.memory_kind = "pinned_host"}, %b: !m {mhlo.memory_kind = "device"}) -> (!m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) {arg_attrs = [{mhlo.memory_kind = "pinned_host"}, {}], res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]} (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>) {
    mpmd.return %x, %y : tensor<12x8xf32>, tensor<12x8xf32>
  } : (!m, !m) -> (!m, !m)
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0#0, %b) {arg_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]} (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m, !m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["h"]> (%0#1, %1, %b) (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>, %z: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m, !m, !m) -> !m
  return %2, %2 : !m, !m
}

// Passed twice it counts once, and as a device value if it is one of the two.
// CHECK-LABEL: func @distinct_operands_count_once
// CHECK-NEXT:    fragment<mesh="m", origin=["f"]> {{.*}}reserved_hbm_bytes = 384 : i64
// CHECK:         fragment<mesh="m", origin=["g"]> {{.*}}reserved_hbm_bytes = 384 : i64
func.func @distinct_operands_count_once(%a: !m, %b: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %a) (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m, !m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%a, %0, %0) {arg_attrs = [{}, {mhlo.memory_kind = "pinned_host"}, {}]} (%x: tensor<12x8xf32>, %y: tensor<12x8xf32>, %z: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m, !m, !m) -> !m
  return %1 : !m
}

// A transfer ends its operand on one mesh and begins its result on the other.
// CHECK-LABEL: func @each_value_counts_on_its_mesh
// CHECK-NEXT:    fragment<mesh="m", origin=["f"]> {{.*}} {reserved_hbm_bytes = 0 : i64}
// CHECK:         mpmd.transfer
// CHECK-NEXT:    fragment<mesh="m", origin=["g"]> {{.*}} {reserved_hbm_bytes = 0 : i64}
// CHECK:         fragment<mesh="n", origin=["h"]> {{.*}} {reserved_hbm_bytes = 384 : i64}
func.func @each_value_counts_on_its_mesh(%a: !m {jax.buffer_donor = true}, %b: !n) -> (!m, !n, !n) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<12x8xf32>) {
    mpmd.return %x, %x : tensor<12x8xf32>, tensor<12x8xf32>
  } : (!m) -> (!m, !m)
  %1 = mpmd.transfer %0#0 : (!m) -> !n
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%0#1) (%x: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!m) -> !m
  %3 = mpmd.fragment<mesh="n", origin=["h"]> (%b) (%x: tensor<12x8xf32>) {
    mpmd.return %x : tensor<12x8xf32>
  } : (!n) -> !n
  return %2, %3, %1 : !m, !n, !n
}

// 12 and 1 bits: 1.625 bytes.
// CHECK-LABEL: func @parts_of_bytes_are_rounded_up_in_the_end
// CHECK-NEXT:    fragment<mesh="m", origin=["f"]> {{.*}}reserved_hbm_bytes = 2 : i64
// CHECK:         fragment<mesh="m", origin=["g"]> {{.*}}reserved_hbm_bytes = 10 : i64
func.func @parts_of_bytes_are_rounded_up_in_the_end(%a: !s, %b: !flag) -> !complex attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> () {reserved_hbm_bytes = 7 : i64} () {
    %c = stablehlo.constant dense<(0.0, 1.0)> : tensor<complex<f32>>
    mpmd.return %c : tensor<complex<f32>>
  } : () -> !complex
  mpmd.fragment<mesh="m", origin=["g"]> () () {
    mpmd.return
  } : () -> ()
  return %0 : !complex
}

// CHECK-LABEL: func @leaves_plain_functions_alone
// CHECK-NOT:     reserved
func.func @leaves_plain_functions_alone(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
