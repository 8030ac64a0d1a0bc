//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_IMPORT_CONDITIONALS_PASSES_TD
#define MESHWRIGHT_IMPORT_CONDITIONALS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitConditionalsPass
    : Pass<"mpmd-split-conditionals", "::mlir::ModuleOp"> {
  let summary = "Splits conditionals over states on several meshes";
  let description = [{
    A conditional outside of named computations is one operation, which inference
    puts on one mesh. Where its results belong on different meshes, there will be
    one conditional per mesh, and the predicate travels.

    ```mlir
    // %w0, %g0 on m1; %w1, %g1 on m2
    %r:2 = "stablehlo.if"(%ok) ({ (%w0 - %g0, %w1 - %g1) }, { (%w0, %w1) })
    // becomes
    %p = mpmd.broadcast %ok
    %0 = "stablehlo.if"(%p) ({ %w0 - %g0 }, { %w0 })  // assigned to m1
    %1 = "stablehlo.if"(%p) ({ %w1 - %g1 }, { %w1 })  // assigned to m2
    ```

    A result belongs where it would be if all branches were inlined. What parts
    share runs before the conditional if it is cheap (element by element,
    reductions, scalar products, changes of shape), and so do cheap sums across
    meshes; what else they share becomes a part of its own, but for numbers that
    are broadcast, which each part does. With `sends-little` what is shared also runs
    before the conditional if values of several meshes meet there, whatever it costs:
    a part of its own would be sent all of these. Parts with effects stay one. Acts on
    MPMD functions with several meshes, on conditionals in branches, too. Leaves
    alone conditionals with one place and those that return tokens, and loops.
    Copies the module to look at it if it has a conditional with several results.
    Cost: linear.
  }];
  let options = [
    Option<"sendsLittle", "sends-little", "bool", /*default=*/"false",
           "Place computations of scalars on the mesh of the state they are "
           "combined with; mpmd-minimize-transfers then sends the scalars.">,
  ];
  let statistics = [
    Statistic<"numSplit", "num-split", "Conditionals split">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

#endif
