// RUN: rm -rf %t && mkdir %t
// RUN: mpmd-opt %s "-sdy-user-priority-propagate=module-dump-directory=%t" -o %t.out
// RUN: ls %t | FileCheck %s --check-prefix=FILES
// RUN: FileCheck %s --check-prefix=FIRST < %t/00.propagation_after_user_priority_0.mlir
// RUN: FileCheck %s --check-prefix=RESULT < %t.out
// RUN: not mpmd-opt %s "-sdy-user-priority-propagate=module-dump-directory=%t/missing" 2>&1 | FileCheck %s --check-prefix=MISSING

// FILES: 00.propagation_after_user_priority_0.mlir
// FILES-NEXT: 00.propagation_after_user_priority_1.mlir
// FILES-NOT: priority_2

// MISSING: error: module-dump-directory: {{.*}}missing{{.*}}; expected a folder that exists and can be written to

sdy.mesh @grid = <["a"=2, "b"=2, "c"=2]>

// FIRST: stablehlo.sine {{.*}}[{"a", ?}, {?}, {?}]{{.*}}sdy.sharding_rule
// RESULT: stablehlo.sine %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a", ?}, {"b", ?}, {"c", ?}]>]>} : tensor<8x8x8xf32>
func.func @main(%x: tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", ?}, {"b", ?}p1, {"c", ?}p2]>}) -> tensor<8x8x8xf32> {
  %0 = stablehlo.sine %x : tensor<8x8x8xf32>
  return %0 : tensor<8x8x8xf32>
}
