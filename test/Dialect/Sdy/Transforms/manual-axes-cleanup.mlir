// RUN: mpmd-opt %s -sdy-manual-axes-cleanup | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4, "d"=2]>

// CHECK-LABEL: func @sorts_axes_and_replicates_those_not_mentioned
func.func @sorts_axes_and_replicates_those_not_mentioned(%x: tensor<12xf32>) -> tensor<12xf32> {
  // CHECK-NEXT: sdy.manual_computation(%{{.*}}) in_shardings=[<@grid, [{"c", ?}], replicated={"r", "d"}>] out_shardings=[<@grid, [{"c"}], replicated={"r", "d"}>] manual_axes={"r", "c", "d"}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"c", ?}]>] out_shardings=[<@grid, [{"c"}], replicated={"d"}>] manual_axes={"d", "c", "r"} (%y: tensor<3xf32>) {
    sdy.return %y : tensor<3xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// CHECK-LABEL: func @leaves_empty_computation_alone
func.func @leaves_empty_computation_alone() {
  // CHECK-NEXT: sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"d", "c"}
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"d", "c"} () {
    sdy.return
  } : () -> ()
  return
}

// CHECK-LABEL: func @names_an_axis_twice
func.func @names_an_axis_twice(%x: tensor<12xf32>) -> tensor<12xf32> {
  // CHECK-NEXT: in_shardings=[<@grid, [{}], replicated={"r"}>] out_shardings=[<@grid, [{}], replicated={"r"}>] manual_axes={"r"}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{}]>] out_shardings=[<@grid, [{}]>] manual_axes={"r", "r"} (%y: tensor<12xf32>) {
    sdy.return %y : tensor<12xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// CHECK-LABEL: module @knows_another_mesh
module @knows_another_mesh {
  sdy.mesh @grid = <["d"=2, "r"=2]>
  func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {
    // CHECK: in_shardings=[<@grid, [{}]>]
    %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{}]>] out_shardings=[<@grid, [{}]>] manual_axes={"r", "d"} (%y: tensor<12xf32>) {
      sdy.return %y : tensor<12xf32>
    } : (tensor<12xf32>) -> tensor<12xf32>
    return %0 : tensor<12xf32>
  }
}
