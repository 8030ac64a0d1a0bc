// RUN: mpmd-opt %s | FileCheck %s

// JAX of later releases names the sum, too, in generic text.

sdy.mesh @grid = <["r"=2]>

// CHECK-LABEL: func @kinds
func.func @kinds(%x: tensor<12x8xf32>) {
  // CHECK-NEXT: sdy.all_reduce {"r"} %{{.*}} out_sharding=<@grid, [{}, {}]> : tensor<12x8xf32>
  %0 = "sdy.all_reduce"(%x) <{out_sharding = #sdy.sharding<@grid, [{}, {}]>, reduction_axes = #sdy<axis_ref_list{"r"}>, reduction_op = 0 : i32}> : (tensor<12x8xf32>) -> tensor<12x8xf32>
  // CHECK-NEXT: sdy.all_reduce max {"r"}
  %1 = "sdy.all_reduce"(%x) <{out_sharding = #sdy.sharding<@grid, [{}, {}]>, reduction_axes = #sdy<axis_ref_list{"r"}>, reduction_op = 1 : i32}> : (tensor<12x8xf32>) -> tensor<12x8xf32>
  // CHECK-NEXT: sdy.reduce_scatter [{"r"}, {}]
  %2 = "sdy.reduce_scatter"(%x) <{out_sharding = #sdy.sharding<@grid, [{"r"}, {}]>, reduce_scatter_axes = #sdy<list_of_axis_ref_lists[{"r"}, {}]>, reduction_op = 0 : i32}> : (tensor<12x8xf32>) -> tensor<12x8xf32>
  // CHECK-NEXT: sdy.reduce_scatter min [{"r"}, {}]
  %3 = "sdy.reduce_scatter"(%x) <{out_sharding = #sdy.sharding<@grid, [{"r"}, {}]>, reduce_scatter_axes = #sdy<list_of_axis_ref_lists[{"r"}, {}]>, reduction_op = 2 : i32}> : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return
}
