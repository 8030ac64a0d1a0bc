// RUN: mpmd-opt %s --mpmd-merge-inferred-fragments | FileCheck %s
// RUN: mpmd-opt %s --mpmd-merge-inferred-fragments=clone-inferred-fragments=true | FileCheck %s --check-prefix=CLONED

// Merging does to fragments that share a body what it does to those that have its ops.

!t = tensor<4xf32>
!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// CHECK-LABEL: func @erases_fragments_with_a_shared_body_that_nothing_reads
// CHECK-NEXT: return
func.func @erases_fragments_with_a_shared_body_that_nothing_reads(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !t) {
    %1 = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (!t) -> !t
    mpmd.return %1 : !t
  } : (!m) -> !m
  return %x : !m
}

// What a runtime provides may fail, and so does not go without being asked.
// CHECK-LABEL: func @keeps_fragments_whose_shared_body_may_fail
// CHECK-NEXT: mpmd.fragment
func.func @keeps_fragments_whose_shared_body_may_fail(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !t) {
    %1 = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@may_fail]} : (!t) -> !t
    mpmd.return %1 : !t
  } : (!m) -> !m
  return %x : !m
}

// CLONED-LABEL: func @gives_each_consumer_a_copy_of_the_call
// CLONED-SAME: (%[[X:.*]]: !mpmd
// CLONED-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"]> (%[[X]])
// CLONED-NEXT: stablehlo.custom_call @mpmd.shared_body
// CLONED-NEXT: stablehlo.negate
// CLONED: %[[G:.*]] = mpmd.fragment<mesh="m", origin=["g"]> (%[[X]])
// CLONED-NEXT: stablehlo.custom_call @mpmd.shared_body
// CLONED-NEXT: stablehlo.abs
// CLONED: return %[[F]], %[[G]]
func.func @gives_each_consumer_a_copy_of_the_call(%x: !m) -> (!m, !m) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !t) {
    %3 = stablehlo.custom_call @mpmd.shared_body(%a) {called_computations = [@body]} : (!t) -> !t
    mpmd.return %3 : !t
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%a: !t) {
    %3 = stablehlo.negate %a : !t
    mpmd.return %3 : !t
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%0) (%a: !t) {
    %3 = stablehlo.abs %a : !t
    mpmd.return %3 : !t
  } : (!m) -> !m
  return %1, %2 : !m, !m
}

func.func private @body(%a: !t) -> !t attributes {mpmd.shared_body} {
  %0 = stablehlo.sine %a : !t
  return %0 : !t
}

func.func private @may_fail(%a: !t) -> !t attributes {mpmd.shared_body} {
  %0 = stablehlo.custom_call @other(%a) : (!t) -> !t
  return %0 : !t
}
