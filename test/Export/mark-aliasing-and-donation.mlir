// RUN: mpmd-opt %s -mpmd-mark-aliasing-and-donation | FileCheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!i = !mpmd.mesh_tensor<"m", tensor<4xi32>>
!n = !mpmd.mesh_tensor<"n", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2]>>>

// The number on the function counts results of the function, the one on the
// fragment those of the fragment.
// CHECK-LABEL: func @argument_prefers_the_result_it_becomes
// CHECK-NEXT:    mpmd.fragment<{{.*}}> (%{{.*}}) {arg_attrs = [{tf.aliasing_output = 2 : i32}]}
func.func @argument_prefers_the_result_it_becomes(%a: !m {tf.aliasing_output = 1 : i32}) -> (!m, !m) attributes {topology = #topology} {
  %0:3 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m, !m)
  return %0#0, %0#2 : !m, !m
}

// CHECK-LABEL: func @preference_passes_through_transfers
// CHECK-NEXT:    mpmd.fragment<{{.*}}> (%{{.*}}) {arg_attrs = [{tf.aliasing_output = 1 : i32}]}
func.func @preference_passes_through_transfers(%a: !m {tf.aliasing_output = 0 : i32}) -> (!n, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x, %x : tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m)
  %1 = mpmd.transfer %0#1 : (!m) -> !n
  return %1, %0#0 : !n, !m
}

// A fragment with one operand is not looked through.
// CHECK-LABEL: func @preference_ends_at_a_fragment
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"]> (%{{.*}}) {arg_attrs = [{tf.aliasing_output = 0 : i32}]}
// CHECK:         mpmd.fragment<mesh="m", origin=["g"]> (%{{.*}}) {arg_attrs = [{tf.aliasing_output = 0 : i32}]}
func.func @preference_ends_at_a_fragment(%a: !m {tf.aliasing_output = 0 : i32}) -> (!m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x, %x : tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m)
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0#1) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %1, %0#0 : !m, !m
}

// CHECK-LABEL: func @result_number_beyond_the_last_is_no_preference
// CHECK-NEXT:    mpmd.fragment<{{.*}}> (%{{.*}}, %{{.*}}) {arg_attrs = [{tf.aliasing_output = 0 : i32}, {tf.aliasing_output = 1 : i32}]}
func.func @result_number_beyond_the_last_is_no_preference(%a: !m {tf.aliasing_output = 7 : i32}, %b: !m {tf.aliasing_output = -1 : i32}) -> (!m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    mpmd.return %x, %y : tensor<4xf32>, tensor<4xf32>
  } : (!m, !m) -> (!m, !m)
  return %0#0, %0#1 : !m, !m
}

// The preferred result is taken by the operand before.
// CHECK-LABEL: func @preferred_result_may_be_taken
// CHECK-NEXT:    mpmd.fragment<{{.*}}> (%{{.*}}, %{{.*}}, %{{.*}}) {arg_attrs = [{tf.aliasing_output = 1 : i32}, {tf.aliasing_output = 0 : i32}, {jax.buffer_donor = true}]}
func.func @preferred_result_may_be_taken(%a: !m {tf.aliasing_output = 0 : i32}, %b: !m {tf.aliasing_output = 0 : i32}, %c: !m {tf.aliasing_output = 0 : i32}) -> (!m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b, %c) (%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) {
    mpmd.return %x, %y : tensor<4xf32>, tensor<4xf32>
  } : (!m, !m, !m) -> (!m, !m)
  return %0#1, %0#0 : !m, !m
}

// CHECK-LABEL: func @donor_argument_is_donated_unannotated_one_kept
// CHECK-NEXT:    mpmd.fragment<{{.*}}> (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {arg_attrs = [{jax.buffer_donor = true}, {}, {}, {}]}
func.func @donor_argument_is_donated_unannotated_one_kept(%a: !m {jax.buffer_donor = true, tf.aliasing_output = 0 : i32}, %b: !m, %c: !m {jax.buffer_donor = false}, %d: !m {tf.aliasing_output = "0"}) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b, %c, %d) (%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>, %w: tensor<4xf32>) {
    mpmd.return %y : tensor<4xf32>
  } : (!m, !m, !m, !m) -> !m
  return %0 : !m
}

// Results go to operands by type, first come, first served; what is left over
// is donated.
// CHECK-LABEL: func @computed_values_alias_or_are_donated
// CHECK:         mpmd.fragment<mesh="m", origin=["g"]> (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {arg_attrs = [{tf.aliasing_output = 1 : i32}, {tf.aliasing_output = 0 : i32}, {tf.aliasing_output = 2 : i32}, {jax.buffer_donor = true}]}
func.func @computed_values_alias_or_are_donated(%a: !m, %b: !i, %c: !n) -> (!i, !m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) (%x: tensor<4xf32>, %y: tensor<4xi32>) {
    mpmd.return %x, %y : tensor<4xf32>, tensor<4xi32>
  } : (!m, !i) -> (!m, !i)
  %1 = mpmd.transfer %c : (!n) -> !m
  %2 = mpmd.transfer %c : (!n) -> !m
  %3:3 = mpmd.fragment<mesh="m", origin=["g"]> (%0#0, %0#1, %1, %2) (%x: tensor<4xf32>, %y: tensor<4xi32>, %z: tensor<4xf32>, %w: tensor<4xf32>) {
    mpmd.return %y, %x, %x : tensor<4xi32>, tensor<4xf32>, tensor<4xf32>
  } : (!m, !i, !m, !m) -> (!i, !m, !m)
  return %3#0, %3#1, %3#2 : !i, !m, !m
}

// CHECK-LABEL: func @only_the_last_use_counts
// CHECK:         mpmd.fragment<mesh="m", origin=["g"]> (%{{.*}}, %{{.*}}) (%
// CHECK:         mpmd.fragment<mesh="m", origin=["h"]> (%[[V:.*]], %[[V]]) {arg_attrs = [{}, {tf.aliasing_output = 0 : i32}]}
func.func @only_the_last_use_counts(%a: !m) -> (!m, !m) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x, %x : tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m)
  mpmd.fragment<mesh="m", origin=["g"]> (%0#0, %0#1) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    mpmd.return
  } : (!m, !m) -> ()
  %2 = mpmd.fragment<mesh="m", origin=["h"]> (%0#0, %0#0) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    mpmd.return %y : tensor<4xf32>
  } : (!m, !m) -> !m
  return %2, %0#1 : !m, !m
}

// CHECK-LABEL: func @any_transfer_of_the_value_rules_it_out
// CHECK:         mpmd.transfer
// CHECK:         mpmd.fragment<mesh="m", origin=["g"]> (%{{.*}}, %{{.*}}) (%
func.func @any_transfer_of_the_value_rules_it_out(%a: !m {jax.buffer_donor = true}) -> (!m, !n, !n) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.transfer %0 : (!m) -> !n
  %2 = mpmd.transfer %a : (!m) -> !n
  %3 = mpmd.fragment<mesh="m", origin=["g"]> (%0, %a) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m, !m) -> !m
  return %3, %1, %2 : !m, !n, !n
}

// CHECK-LABEL: func @host_memory_and_other_layouts_are_passed_over
// CHECK:         mpmd.fragment<mesh="m", origin=["g"]> (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {arg_attrs = [
// CHECK-SAME:      {mhlo.memory_kind = "pinned_host"},
// CHECK-SAME:      {mhlo.layout_mode = "auto", tf.aliasing_output = 1 : i32},
// CHECK-SAME:      {tf.aliasing_output = 2 : i32},
// CHECK-SAME:      {jax.buffer_donor = true, mhlo.layout_mode = "default"}], res_attrs = [{mhlo.memory_kind = "pinned_host"}, {mhlo.layout_mode = "auto"}, {}]}
func.func @host_memory_and_other_layouts_are_passed_over(%a: !m) -> (!m, !m, !m) attributes {topology = #topology} {
  %0:4 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x, %x, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!m) -> (!m, !m, !m, !m)
  %1:3 = mpmd.fragment<mesh="m", origin=["g"]> (%0#0, %0#1, %0#2, %0#3) {arg_attrs = [{mhlo.memory_kind = "pinned_host"}, {mhlo.layout_mode = "auto"}, {}, {mhlo.layout_mode = "default"}], res_attrs = [{mhlo.memory_kind = "pinned_host"}, {mhlo.layout_mode = "auto"}, {}]} (%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>, %w: tensor<4xf32>) {
    mpmd.return %x, %y, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!m, !m, !m, !m) -> (!m, !m, !m)
  return %1#0, %1#1, %1#2 : !m, !m, !m
}

// CHECK-LABEL: func @leaves_returned_values_and_unmarked_fragments_alone
// CHECK-NEXT:    mpmd.fragment<mesh="m", origin=["f"]> (%{{.*}}, %{{.*}}) (%
// CHECK:         mpmd.fragment<mesh="m", origin=["g"]> (%{{.*}}) {arg_attrs = [{}]} (%
func.func @leaves_returned_values_and_unmarked_fragments_alone(%a: !m, %b: !m {jax.buffer_donor = true}) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b) (%x: tensor<4xf32>, %y: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m, !m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0) {arg_attrs = [{}]} (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!m) -> !m
  return %0, %1, %b : !m, !m, !m
}

// What is computed once for all microbatches is not for the last to overwrite.
// CHECK-LABEL: func @hoisted
func.func @hoisted(%x: !m) -> !m
    attributes {topology = #topology} {
  // CHECK: mpmd.fragment<mesh="m", origin=["hoisted"]>
  %0 = mpmd.fragment<mesh="m", origin=["hoisted"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  // CHECK: mpmd.fragment<mesh="m", origin=["f"]> (%0)
  // CHECK-NOT: arg_attrs
  // CHECK: mpmd.return
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  return %1 : !m
}

// A loop, or another block, may read it later.
// CHECK-LABEL: func @leaves_what_others_read
// CHECK:         origin=["g"]> (%0, %{{.*}}) (%
func.func @leaves_what_others_read(%x: !m, %y: !m {jax.buffer_donor = true}) -> (!m, !m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0, %y) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    mpmd.return %a : tensor<4xf32>
  } : (!m, !m) -> !m
  %2 = mpmd.for (%x) {iterations = 2 : ui32} (%c: !m, %i: tensor<ui32>) {
    %3 = mpmd.fragment<mesh="m", origin=["h"]> (%c, %0) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
      mpmd.return %b : tensor<4xf32>
    } : (!m, !m) -> !m
    mpmd.return %3 : !m
  } : !m
  cf.br ^bb1
^bb1:
  return %1, %2, %y : !m, !m, !m
}
