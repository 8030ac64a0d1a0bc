//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_PASSES_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def TargetIndependentOptimizationPass
    : Pass<"stablehlo-target-independent-optimization",
           "::mlir::func::FuncOp"> {
  let summary = "Simplifies StableHLO without knowing the hardware";
  let description = [{
    Greedy rewriting to a fixed point: neutral elements, data movement that has
    no effect or cancels out, dynamic operations whose parameters are constants,
    and operations on constants only.

    ```mlir
    %zero = stablehlo.constant dense<0.0> : tensor<2x3xf32>
    %0 = stablehlo.add %zero, %x : tensor<2x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x3xf32>) -> tensor<6xf32>
    %2 = stablehlo.reshape %1 : (tensor<6xf32>) -> tensor<3x2xf32>
    // becomes
    %2 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```

    Discardable attributes of a replaced op are merged into those of its
    replacement. Leaves alone: quantized tensors, dynamic shapes, constants of
    other dialects, functions with a graph region, where values may depend on
    themselves, and ops whose value is implementation-defined: integer division
    by zero, conversions out of range, subnormal numbers, and arithmetic on
    floats narrower than 16 bits. Reports computed sizes that contradict types.
    Splats are evaluated at any size, other constants only up to 65536 elements,
    or `fold-op-element-limit` if that is larger, and up to 2^24 elements per
    function. Cost: linear in the size of the program.
  }];
  let options = [
    Option<"assumeNoUndeclaredSideEffects",
           "assume-no-undeclared-side-effects", "bool", /*default=*/"false",
           "Remove unused loops even if they contain ops with unknown "
           "effects.">,
    Option<"foldOpElementLimit", "fold-op-element-limit", "int64_t",
           /*default=*/"65536",
           "Maximum elements of a constant that a conversion, "
           "concatenation, iota, reverse or select folds to.">,
    Option<"optimizeFloat", "optimize-float", "bool", /*default=*/"true",
           "Also simplify and evaluate floating-point arithmetic.">,
  ];
  let statistics = [
    Statistic<"numFunctions", "num-functions", "Functions changed">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

#endif
