// Within a pass, control dependencies are operands without a block argument, which
// do not verify; what a pass keeps does.
// RUN: mpmd-opt %s --verify-roundtrip=false -mlir-very-unsafe-disable-verifier-on-parsing -mpmd-rule-based-merge='rules=FragmentMergeRule(sources=[FragmentInfo(origins=["u"],mesh_name="m1"),FragmentInfo(origins=["w"],mesh_name="m1")],target=FragmentInfo(origins=["all"],mesh_name="m1"))' | FileCheck %s
// RUN: mpmd-opt %s --verify-roundtrip=false -mlir-very-unsafe-disable-verifier-on-parsing -mpmd-rule-based-merge='rules=FragmentMergeRule(sources=[FragmentInfo(origins=["u"],mesh_name="m1"),FragmentInfo(origins=["w"],mesh_name="m1")],target=FragmentInfo(origins=["all"],mesh_name="m1")) remove-control-dependencies=false' | FileCheck %s --check-prefix=KEEP
// RUN: mpmd-opt %s --verify-roundtrip=false -mlir-very-unsafe-disable-verifier-on-parsing -mpmd-rule-based-merge | FileCheck %s --check-prefix=NONE

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>

// A result that only a control dependency reads stays; dependencies within the
// merged fragment go, the others are kept in order, with repetition.
// CHECK-LABEL: func @removes_control_dependencies
// CHECK-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
// KEEP: origin=["z"]> (%[[X:.*]]) {mpmd.control_number = 0 : i64} (
// KEEP: %[[M:.*]]:3 = mpmd.fragment<mesh="m1", origin=["all"]> (%[[X]], %{{.*}}) {mpmd.control_after = array<i64: 0, 0>, mpmd.control_number = 1 : i64} (
// KEEP: origin=["d"]> (%[[M]]#1) {kept, mpmd.control_after = array<i64: 1, 1>} (
// NONE-LABEL: func @removes_control_dependencies
// NONE-SAME:    (%[[X:.*]]: !mpmd{{.*}}, %[[Y:.*]]: !mpmd
func.func @removes_control_dependencies(%x: !m1, %y: !m1) -> (!m1, !m1, !m1) attributes {topology = #topology} {
  // CHECK-NEXT: %[[Z:.*]] = mpmd.fragment<mesh="m1", origin=["z"]> (%[[X]])
  // CHECK:      %[[M:.*]]:3 = mpmd.fragment<mesh="m1", origin=["all"]> (%[[X]], %[[Y]]) (
  // CHECK:      %[[D:.*]] = mpmd.fragment<mesh="m1", origin=["d"]> (%[[M]]#1) {kept}
  // CHECK:      return %[[M]]#2, %[[D]], %[[Z]]
  // NONE-NEXT:  %[[Z:.*]] = mpmd.fragment<mesh="m1", origin=["z"]> (%[[X]]) (
  // NONE:       %[[U:.*]]:2 = mpmd.fragment<mesh="m1", origin=["u"]> (%[[X]]) (
  // NONE:       mpmd.fragment<mesh="m1", origin=["w"]> (%[[Y]]) (
  // NONE:       mpmd.fragment<mesh="m1", origin=["d"]> (%[[U]]#1) {kept} (
  %z = mpmd.fragment<mesh="m1", origin=["z"]> (%x) (%p: tensor<4xf32>) {
    %r = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1) -> !m1
  %u:2 = mpmd.fragment<mesh="m1", origin=["u"]> (%x, %z) {mpmd.control_operand_start_idx = 1 : i64} (%p: tensor<4xf32>) {
    %r = stablehlo.negate %p : tensor<4xf32>
    mpmd.return %r, %p : tensor<4xf32>, tensor<4xf32>
  } : (!m1, !m1) -> (!m1, !m1)
  %w = mpmd.fragment<mesh="m1", origin=["w"]> (%y, %u#0, %z) {mpmd.control_operand_start_idx = 1 : i64} (%p: tensor<4xf32>) {
    %r = stablehlo.sine %p : tensor<4xf32>
    mpmd.return %r : tensor<4xf32>
  } : (!m1, !m1, !m1) -> !m1
  %d = mpmd.fragment<mesh="m1", origin=["d"]> (%u#1, %w, %u#0) {kept, mpmd.control_operand_start_idx = 1 : i64} (%p: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!m1, !m1, !m1) -> !m1
  return %w, %d, %z : !m1, !m1, !m1
}
