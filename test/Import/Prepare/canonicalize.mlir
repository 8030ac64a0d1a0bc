// RUN: mpmd-opt %s -mpmd-canonicalize | FileCheck %s
// RUN: mpmd-opt %s -canonicalize | FileCheck %s

sdy.mesh @grid = <["r"=2, "c"=4]>

// CHECK-LABEL: func @one_block
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32>)
func.func @one_block(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[R:.*]] = sdy.reshard %[[X]] <@grid, [{"c"}]>
  // CHECK-NEXT: return %[[R]] : tensor<8xf32>
  %unread = stablehlo.negate %x : tensor<8xf32>
  %of_unread = stablehlo.add %unread, %x : tensor<8xf32>
  %0 = sdy.reshard %x <@grid, [{"r"}]> : tensor<8xf32>
  %1 = sdy.reshard %0 <@grid, [{"c"}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// What nothing reaches goes.

// CHECK-LABEL: func @several_blocks
func.func @several_blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[R:.*]] = stablehlo.negate
  // CHECK-NEXT: return %[[R]] : tensor<8xf32>
  // CHECK-NEXT: }
  %0 = stablehlo.negate %x : tensor<8xf32>
  return %0 : tensor<8xf32>
^unreached(%y: tensor<8xf32>):
  return %y : tensor<8xf32>
}
