//===- Passes.td - Passes over CHLO -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_TRANSFORMS_PASSES_TD
#define MESHWRIGHT_DIALECT_CHLO_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def LegalizeToStablehloPass
    : Pass<"chlo-legalize-to-stablehlo", "::mlir::func::FuncOp"> {
  let summary = "Replaces CHLO operations by StableHLO";
  let description = [{
    Writes every CHLO operation on statically shaped tensors as StableHLO:
    broadcasting operations as `broadcast_in_dim` and the plain operation,
    special functions as arithmetic.

    ```mlir
    %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
    // becomes
    %0 = stablehlo.multiply %x, %x : tensor<4xf32>
    ```

    Special functions on f16, bf16 and narrower types are computed in f32, then
    rounded once. Values agree with the exact function to a few units in the
    last place of the type computed in, away from zeros of the function.
    Leaves alone: dynamic shapes and quantized types, `ragged_dot` and `scan`,
    for which StableHLO has no operation, `bessel_i1e` of complex numbers, and
    `next_after` of floats narrower than 16 bits. Discardable attributes are
    dropped. Cost: linear.
  }];
  let statistics = [
    Statistic<"numReplaced", "num-replaced", "CHLO operations replaced">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

#endif
