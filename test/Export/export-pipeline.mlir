// RUN: mpmd-opt %s -mpmd-export-pipeline -split-input-file 2>%t.log | FileCheck %s
// RUN: FileCheck %s --check-prefix=LOG --input-file=%t.log

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// Empty entries leave no trace on the function.
// CHECK-LABEL: module @jit_step
// CHECK:       func.func @one_fragment(%[[A:.*]]: !mpmd.mesh_tensor<"m", tensor<4xf32>>, %[[B:.*]]: !mpmd
// CHECK-NEXT:    %[[F:.*]] = mpmd.fragment_call<mesh="m", origin=["f"]> @p0_f.step(%[[A]]) : (!mpmd.mesh_tensor<"m", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>>
// CHECK-NEXT:    return %[[F]]
// CHECK:       func.func @p0_f.step(%[[X:.*]]: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>, reserved_hbm_bytes = 16 : i64} {
// CHECK-NEXT:    %[[S:.*]] = stablehlo.sine %[[X]]
// CHECK-NEXT:    return %[[S]]
module @jit_step {
func.func @one_fragment(%a: !m, %b: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %s = stablehlo.sine %x : tensor<4xf32>
    %t = stablehlo.sine %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!m) -> !m
  return %0 : !m
}
}

// -----

!pa = !mpmd.mesh_tensor<"pa", tensor<4xf32>>
!pb = !mpmd.mesh_tensor<"pb", tensor<4xf32>>
#topology = #mpmd.topology<<"pa": <["x"=2]>>, <"pb": <["x"=2]>>>

// Equal transfers are merged, those between equal types dropped. The last of
// three equal bodies is marked as the second is, but runs on another mesh; the
// first reads an argument, which is not marked.
// CHECK-LABEL: func.func @marks_before_it_groups
// CHECK-SAME:      (%[[A:.*]]: !mpmd.mesh_tensor
// CHECK-NEXT:    %[[F:.*]] = mpmd.fragment_call<mesh="pa", origin=["f"]> @p0_f.main(%[[A]])
// CHECK-NEXT:    %[[T:.*]] = mpmd.transfer %[[F]]
// CHECK-NEXT:    %[[G:.*]] = mpmd.fragment_call<mesh="pb", origin=["f"]> @p1_f.main(%[[T]])
// CHECK-NEXT:    %[[U:.*]] = mpmd.transfer %[[G]]
// CHECK-NEXT:    %[[H:.*]] = mpmd.fragment_call<mesh="pa", origin=["f"]> @p2_f.main(%[[U]])
// CHECK-NEXT:    return %[[H]]
// CHECK:       func.func @p0_f.main(%{{.*}}: tensor<4xf32>) ->
// CHECK:       func.func @p1_f.main(%{{.*}}: tensor<4xf32> {tf.aliasing_output = 0 : i32}) ->
// CHECK:       func.func @p2_f.main(%{{.*}}: tensor<4xf32> {tf.aliasing_output = 0 : i32}) ->
func.func @marks_before_it_groups(%a: !pa) -> !pa attributes {topology = #topology} {
  %same = mpmd.transfer %a : (!pa) -> !pa
  %0 = mpmd.fragment<mesh="pa", origin=["f"]> (%same) (%x: tensor<4xf32>) {
    %s = stablehlo.sine %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!pa) -> !pa
  %1 = mpmd.transfer %0 : (!pa) -> !pb
  %2 = mpmd.transfer %0 : (!pa) -> !pb
  %3 = mpmd.fragment<mesh="pb", origin=["f"]> (%2) (%x: tensor<4xf32>) {
    %s = stablehlo.sine %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!pb) -> !pb
  %4 = mpmd.transfer %3 : (!pb) -> !pa
  %5 = mpmd.fragment<mesh="pa", origin=["f"]> (%4) (%x: tensor<4xf32>) {
    %s = stablehlo.sine %x : tensor<4xf32>
    mpmd.return %s : tensor<4xf32>
  } : (!pa) -> !pa
  return %5 : !pa
}

// -----

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
#topology = #mpmd.topology<<"m": <["x"=2]>>>

// An argument that is returned gets a fragment, which nothing takes in. Both
// reports are at its location.
// CHECK-LABEL: func.func @returns_its_argument
// CHECK-NEXT:    mpmd.fragment_call<mesh="m", origin=[]> @p0_inferred.main(
// LOG:         :59:8: warning: Detected backward dependency
// LOG:         :[[#@LINE+3]]:3: warning: Inferred fragment has not been merged (inferred by uniquify)
// LOG:         :[[#@LINE+2]]:3: warning: Detected reshard-only fragment 'p0_inferred.main'
func.func @returns_its_argument(%a: !m) -> !m attributes {topology = #topology} {
  return %a : !m
}
