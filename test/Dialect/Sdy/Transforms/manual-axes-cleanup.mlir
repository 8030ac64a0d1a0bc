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
