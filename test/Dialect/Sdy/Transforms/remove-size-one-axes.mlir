// RUN: mpmd-opt %s -sdy-remove-size-one-axes | FileCheck %s

// CHECK: sdy.mesh @grid = <["one"=1, "r"=2, "uno"=1]>
sdy.mesh @grid = <["one"=1, "r"=2, "uno"=1]>

// CHECK-LABEL: func @drops_axes_of_size_1_everywhere
// CHECK-SAME: (%{{.*}}: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"r"}p1, {}]>}
// CHECK-SAME:  %{{.*}}: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{?}p1, {}]>}
func.func @drops_axes_of_size_1_everywhere(
    %x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"one", "r"}p1, {"uno"}p2]>},
    %y: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"one", ?}p1, {}], replicated={"uno"}>}) {
  // CHECK-NEXT: sdy.sharding_constraint %{{.*}} <@grid, [{}, {}], replicated={"r"}>
  %0 = sdy.sharding_constraint %x <@grid, [{}, {}], replicated={"one", "r"}, unreduced={"uno"}> : tensor<12x8xf32>
  return
}
