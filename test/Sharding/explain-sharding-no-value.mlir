// RUN: split-file %s %t
// RUN: meshwright explain-sharding %t/erased.mlir | FileCheck %s --check-prefix=ERASED
// RUN: meshwright explain-sharding %t/functions.mlir 2>/dev/null | FileCheck %s --check-prefix=FUNCTIONS

// An axis of an op that propagation erases, since nothing reads it.
// ERASED: argument 0 of @main, {{.*}}erased.mlir:2:17:
// ERASED-NEXT: dimension 0 by "x", from an op that is gone

// Of functions that others name, but do not call: they have no values for their
// results, and declarations none for their arguments.
// FUNCTIONS: result 0 of @defined:
// FUNCTIONS-NEXT: dimension 0 by "x", which is written there
// FUNCTIONS: argument 0 of @declared:
// FUNCTIONS-NEXT: dimension 0 by "y", which is written there
// FUNCTIONS: result 0 of @declared:
// FUNCTIONS-NEXT: dimension 0 by "x", which is written there

//--- erased.mlir
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%0: tensor<8xf32>) {
  %1 = stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<8xf32>
  %2 = stablehlo.sine %1 : tensor<8xf32>
  return
}

//--- functions.mlir
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @defined(%0: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  return %0 : tensor<8xf32>
}
func.func private @declared(tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
func.func @main(%0: tensor<8xf32>) -> tensor<8xf32> {
  %1 = stablehlo.custom_call @opaque(%0) {called_computations = [@defined, @declared]} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
