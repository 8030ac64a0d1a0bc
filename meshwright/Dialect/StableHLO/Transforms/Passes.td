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
    Greedy rewriting to a fixed point: neutral elements, movements of data that
    move nothing or cancel, dynamic operations whose parameters are constants,
    and operations on constants only.

    ```mlir
    %zero = stablehlo.constant dense<0.0> : tensor<2x3xf32>
    %0 = stablehlo.add %zero, %x : tensor<2x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x3xf32>) -> tensor<6xf32>
    %2 = stablehlo.reshape %1 : (tensor<6xf32>) -> tensor<3x2xf32>
    // becomes
    %2 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```

    Discardable attributes of an op that goes are merged into those of the op
    that makes the value in its place. Leaves alone: quantized tensors, dynamic
    shapes, constants of other dialects, and ops whose value is up to the
    compiler: division of integers by zero, conversions out of range, subnormal
    numbers, arithmetic on floats narrower than 16 bits, and functions with a
    graph region in them, where values may depend on themselves. Reports sizes
    that turn out to contradict types. Cost: linear in the size of the program. Only splats are evaluated at any size, since they are
    one number; other constants of up to 65536 elements, or as many as the limit
    says if it is larger, and of 2^24 elements in a function.
  }];
  let options = [
    Option<"assumeNoUndeclaredSideEffects",
           "assume-no-undeclared-side-effects", "bool", /*default=*/"false",
           "Remove unused loops although they contain ops of unknown effects.">,
    Option<"foldOpElementLimit", "fold-op-element-limit", "int64_t",
           /*default=*/"65536",
           "Largest constant that conversion, concatenation, iota, reversal or "
           "selection may become.">,
    Option<"optimizeFloat", "optimize-float", "bool", /*default=*/"true",
           "Also simplify and evaluate floating-point arithmetic.">,
  ];
  let statistics = [
    Statistic<"numFunctions", "num-functions", "Functions changed">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

#endif
