//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_IMPORT_CONDITIONALS_PASSES_TD
#define MESHWRIGHT_IMPORT_CONDITIONALS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitConditionalsPass
    : Pass<"mpmd-split-conditionals", "::mlir::ModuleOp"> {
  let summary = "Splits conditionals over state on several meshes";
  let description = [{
    A conditional outside of named computations is one operation, which
    inference puts on one mesh. Where its results belong on different meshes, it
    becomes one conditional per mesh, and the predicate is transferred.

    ```mlir
    // %w0, %g0 on m1; %w1, %g1 on m2
    %r:2 = "stablehlo.if"(%ok) ({ (%w0 - %g0, %w1 - %g1) }, { (%w0, %w1) })
    // becomes
    %p = mpmd.broadcast %ok
    %0 = "stablehlo.if"(%p) ({ %w0 - %g0 }, { %w0 })  // assigned to m1
    %1 = "stablehlo.if"(%p) ({ %w1 - %g1 }, { %w1 })  // assigned to m2
    ```

    A result belongs on the mesh where it would be if all branches were inlined.
    Computation that several parts share runs before the conditional if it is
    cheap (elementwise, reductions, scalar products, changes of shape), and so
    do cheap sums across meshes; other shared computation becomes a separate
    conditional, except for broadcasts of scalars, which each part repeats. With
    `sends-little`, shared computation that combines values of several meshes
    also runs before the conditional, at any cost, since a separate conditional
    would receive all of these values. Parts with effects are not separated.

    Acts on MPMD functions with several meshes, also on conditionals in
    branches. Leaves alone conditionals whose results are on one mesh, those
    that return tokens, and loops. Analyses a copy of the module if it has a
    conditional with several results. Cost: linear.
  }];
  let options = [
    Option<"sendsLittle", "sends-little", "bool", /*default=*/"false",
           "Place computations of scalars on the mesh of the state they are "
           "combined with; mpmd-minimize-transfers then sends the scalars.">,
  ];
  let statistics = [
    Statistic<"numSplit", "num-split", "Conditionals split">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

#endif
