// RUN: mpmd-opt %s -mpmd-enforce-user-shardings -mpmd-convert-sdy-shardings-to-mpmd-types | FileCheck %s
// RUN: mpmd-opt %s -mpmd-enforce-user-shardings | FileCheck %s --check-prefix=BETWEEN
// RUN: mpmd-opt %s -mpmd-enforce-user-shardings | mpmd-opt -mpmd-convert-sdy-shardings-to-mpmd-types | FileCheck %s
// RUN: mpmd-opt %s -mpmd-enforce-user-shardings -sdy-add-data-flow-edges | FileCheck %s --check-prefix=BETWEEN

// The list that is made for an argument says nothing about other operands: in
// between they are open, and marked.

// BETWEEN-LABEL: func @other_operands_stay_without_sharding
// BETWEEN:         in_shardings=[<@g, [{?}, {?}]>, <@g, [{}, {}]>, <@g, [{"x"}, {}]>]>
// BETWEEN-SAME:    {mpmd.operands_without_sharding = array<i64: 0>}

!l = tensor<8x8xf32>
!m = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
#topology = #mpmd.topology<<"m": <["x"=2, "y"=4]>>>
sdy.mesh @g = <["x"=2, "y"=4]>

// CHECK-LABEL: func @other_operands_stay_without_sharding
// CHECK-SAME:    (%{{.*}}: !mpmd.mesh_tensor<"m", tensor<8x8xf32>>,
// CHECK-SAME:     %{{.*}}: !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{}, {}]>>,
// CHECK-SAME:     %{{.*}}: !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"x"}, {}]>>)
func.func @other_operands_stay_without_sharding(%a: !m,
    %b: !m {sdy.sharding = #sdy.sharding<@g, [{}, {}]>},
    %c: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a, %b, %c) (%x: !l, %y: !l, %z: !l) {
    mpmd.return %x : !l
  } : (!m, !m, !m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @other_operands_keep_the_sharding_they_have
// CHECK:         %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"]>
// CHECK:         } : (!mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{}, {}]>>) -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>, sharding=<@g, [{"y"}, {}]>>
// CHECK:         mpmd.fragment<mesh="m", origin=["g"]> (%[[F]],
func.func @other_operands_keep_the_sharding_they_have(
    %a: !m {sdy.sharding = #sdy.sharding<@g, [{}, {}]>}) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"y"}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0, %a) (%x: !l, %y: !l) {
    mpmd.return %x : !l
  } : (!m, !m) -> !m
  return %1 : !m
}
