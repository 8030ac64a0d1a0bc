//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_ERASE_PASSES_TD
#define MESHWRIGHT_ERASE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ErasePartitioningPass
    : Pass<"mpmd-erase-partitioning", "::mlir::ModuleOp"> {
  let summary = "Turns a partitioned program into an unpartitioned one";
  let description = [{
    Removes all placement from a program, after any phase of compilation. The
    result computes the same and contains no `mpmd` op or type.

    ```mlir
    %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%arg: tensor<4xf32>) {
      %3 = stablehlo.negate %arg : tensor<4xf32>
      mpmd.return %3 : tensor<4xf32>
    } : (!m1) -> !m1
    %2 = mpmd.transfer %1 : (!m1) -> !m2
    return %2 : !m2
    // becomes
    %1 = stablehlo.negate %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
    ```

    Bodies of fragments and named computations are inlined; transfers, assigns,
    unassigns, broadcasts and named tensors disappear; a reduction becomes a
    chain of binary ops, a loop a `stablehlo.while`; both kinds of calls become
    `func.call`. Mesh tensors turn into tensors of their global type.

    Drops topologies, mesh shapes, counters, memory kinds and all attributes of
    the dialect; shardings on meshes of several devices, the ops that only state
    such shardings, and these meshes. Leaves alone: modules that do not use the
    dialect, donation and aliasing, meshes that a manual computation names.

    Reports reductions and loop indices of types that StableHLO cannot compute
    with. Cost: linear.
  }];
  let statistics = [
    Statistic<"numReplaced", "num-replaced", "Operations replaced">,
    Statistic<"numStripped", "num-stripped",
              "Operations stripped of placement">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

#endif
