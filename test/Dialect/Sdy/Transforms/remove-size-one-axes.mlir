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

sdy.mesh @split = <["one"=1, "r"=8, "moved"=1]>

// CHECK-LABEL: func @joins_what_it_stood_between
// CHECK-SAME: #sdy.sharding<@split, [{"r":(1)4}]>
func.func @joins_what_it_stood_between(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@split, [{"r":(1)2, "one", "r":(2)2}]>}) {
  return
}

// CHECK-LABEL: func @keeps_what_collectives_move
// CHECK-SAME: #sdy.sharding<@split, [{"moved"}]>
func.func @keeps_what_collectives_move(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@split, [{"moved", "one"}]>}) {
  // CHECK-NEXT: sdy.reshard %{{.*}} <@split, [{"moved"}]>
  %0 = sdy.reshard %x <@split, [{"moved"}]> : tensor<8xf32>
  // CHECK-NEXT: sdy.all_gather [{"moved"}] %{{.*}} out_sharding=<@split, [{}]>
  %1 = sdy.all_gather [{"moved"}] %0 out_sharding=<@split, [{}]> : tensor<8xf32>
  return
}
