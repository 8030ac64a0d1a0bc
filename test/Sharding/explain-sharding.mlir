// RUN: meshwright explain-sharding %s | FileCheck %s --check-prefix=ALL
// RUN: meshwright explain-sharding %s --value="arg 1" | FileCheck %s --check-prefix=WEIGHT
// RUN: meshwright explain-sharding %s --value=38 | FileCheck %s --check-prefix=TANH
// RUN: meshwright explain-sharding %s --value=%s:38:8 | FileCheck %s --check-prefix=TANH
// RUN: meshwright explain-sharding %s --value=bias | FileCheck %s --check-prefix=BIAS
// RUN: not meshwright explain-sharding %s --value="result 3" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// From what is written to all that follows it.
// ALL: argument 0 of @main, {{.*}}explain-sharding.mlir:36:17:
// ALL-NEXT: dimension 0 by "x", which is written there
// ALL: result 0 of @main:
// ALL-NEXT: dimension 0 by "x", from argument 0 of @main, {{.*}}:36:17
// ALL-NEXT: stablehlo.dot, {{.*}}:37:8: operand 0 to result 0
// ALL-NEXT: stablehlo.tanh, {{.*}}:38:8: operand 0 to result 0
// ALL-NEXT: sdy.sharding_constraint, {{.*}}:39:8: operand 0 to result 0
// ALL-NEXT: func.return of @main: to result 0
// ALL-NEXT: dimension 1 by "y", from sdy.sharding_constraint, {{.*}}:39:8
// ALL-NEXT: func.return of @main: to result 0

// WEIGHT: argument 1 of @main, {{.*}}
// WEIGHT-NEXT: dimension 1 by "y", from sdy.sharding_constraint, {{.*}}:39:8
// WEIGHT-NEXT: sdy.sharding_constraint, {{.*}}:39:8: result 0 to operand 0
// WEIGHT-NEXT: stablehlo.tanh, {{.*}}:38:8: result 0 to operand 0
// WEIGHT-NEXT: stablehlo.dot, {{.*}}:37:8: result 0 to operand 1
// WEIGHT-NOT: {{.}}

// TANH: stablehlo.tanh, {{.*}}:38:8:
// TANH-NOT: of @main:

// BIAS: argument 2 of @main
// BIAS-NEXT: dimension 0 by "y", which is written there

// UNKNOWN: error: no value is called "result 3"; expected `arg N` or `result N` of @main, a line, file:line, file:line:column, a name in a location, or `%name` of the text

sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, %w: tensor<4x16xf32>, %b: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>} loc("bias")) -> tensor<8x16xf32> {
  %0 = stablehlo.dot %x, %w : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.tanh %0 : tensor<8x16xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{?}, {"y", ?}]> : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
