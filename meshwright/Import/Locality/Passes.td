//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_IMPORT_LOCALITY_PASSES_TD
#define MESHWRIGHT_IMPORT_LOCALITY_PASSES_TD

include "mlir/Pass/PassBase.td"

def MinimizeTransfersPass
    : Pass<"mpmd-minimize-transfers", "::mlir::ModuleOp"> {
  let summary = "Transfers the smaller operands of ops that span meshes";
  let description = [{
    Where operands of a plain operation are on different meshes, chooses the mesh
    that needs the fewest bytes from others and transfers those. Mesh inference
    would bring all of them to the first mesh, and what is computed from them.

    ```mlir
    // %g on m1, %n on m2
    %b = stablehlo.broadcast_in_dim %n : (tensor<f32>) -> tensor<8x8xf32>
    %q = stablehlo.divide %g, %b
    // becomes
    %a = mpmd.assign %n : (tensor<f32>) -> !m2
    %t = mpmd.transfer %a : (!m2) -> !m1
    %u = mpmd.unassign %t : (!m1) -> tensor<f32>
    %c = stablehlo.broadcast_in_dim %u
    %q = stablehlo.divide %g, %c
    ```

    Also transfers a value, instead of all it is computed from, to an assign of
    another mesh if that is less; and puts an argument that no fragment reads on
    the mesh of the values with which elementwise ops combine it, if all of
    these are on one mesh.

    Sums of values of several meshes become reductions; one that is combined
    with state, such as the gradient of a weight that stages share, is assigned
    to the mesh of the state for all its readers. An `mpmd.reduce<none>` that
    allows such a sum is removed, since transfers are added anyway.

    Acts on MPMD functions with several meshes. Leaves alone ops in regions, and
    values in host memory. Sets of mesh inference are neither read nor written.
    Cost: linear in operands times meshes.
  }];
  let statistics = [
    Statistic<"numTransfers", "num-transfers", "Transfers added">,
    Statistic<"numRepeated", "num-repeated", "Operations repeated">,
    Statistic<"numArguments", "num-arguments",
              "Arguments assigned to a mesh">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def SplitBarriersPass : Pass<"mpmd-split-barriers", "::mlir::ModuleOp"> {
  let summary = "Splits barriers over values of several meshes";
  let description = [{
    An optimization barrier over the gradients of all stages is one op, and
    would bring them to one mesh. It becomes one barrier for each mesh, and one
    for each operand that could be on any mesh.

    ```mlir
    // %g1 on m1, %g2 on m2
    %h:2 = stablehlo.optimization_barrier %g1, %g2
    // becomes
    %h1 = stablehlo.optimization_barrier %g1
    %h2 = stablehlo.optimization_barrier %g2
    ```

    Acts on MPMD functions, callees first. Leaves alone barriers on one mesh. Cost:
    linear in the ops of a function, once per barrier that is split.
  }];
  let statistics = [
    Statistic<"numSplit", "num-split", "Barriers split">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

def SplitConcatenationsPass
    : Pass<"mpmd-split-concatenations", "::mlir::ModuleOp"> {
  let summary = "Reduces operands of concatenations on their own meshes";
  let description = [{
    The sum over a concatenation is the sum over its operands. Where those are
    on different meshes, each is summed on its own mesh, and only scalars are
    transferred.

    ```mlir
    %v = stablehlo.concatenate %g1, %g2, dim = 0  // %g1 on m1, %g2 on m2
    %s = stablehlo.multiply %v, %v
    %n = stablehlo.reduce(%s init: %zero) across dimensions = [0], add
    // becomes
    %s1 = stablehlo.multiply %g1, %g1
    %s2 = stablehlo.multiply %g2, %g2
    %n1 = stablehlo.reduce(%s1 init: %zero) across dimensions = [0], add
    %n2 = stablehlo.reduce(%s2 init: %zero) across dimensions = [0], add
    %n = stablehlo.add %n1, %n2
    ```

    Follows elementwise arithmetic, also together with other concatenations of
    pieces of the same sizes, reductions whose init value is the identity, or
    over other dimensions, scalar products, broadcasts, changes of shape that
    keep the dimension, and slices of one operand. Results differ by rounding,
    since sums are in another order.

    Acts on MPMD functions, callees first. Leaves alone concatenations of small
    tensors, and other readers of a concatenation. Cost: linear in what is split
    times operands.
  }];
  let statistics = [
    Statistic<"numSplit", "num-split", "Operations split">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

def UnrollLoopsPass : Pass<"mpmd-unroll-loops", "::mlir::ModuleOp"> {
  let summary = "Unrolls loops over state on several meshes";
  let description = [{
    A `stablehlo.while` without a name is one op, on one mesh. Where its carried
    values are on different meshes and are combined through scalars only, such
    as in the two-loop recursion of L-BFGS, its iterations are unrolled, so that
    each op can be on its own mesh.

    ```mlir
    // %d1 on m1, %d2 on m2
    %d:3 = stablehlo.while(%i = %c0, %a = %d1, %b = %d2) … // i < 2
    // becomes
    %s = stablehlo.add (dot %d1, %d1), (dot %d2, %d2)
    %a1 = stablehlo.subtract %d1, (multiply %s, …)
    %b1 = stablehlo.subtract %d2, (multiply %s, …)
    // and the same for the next trip
    ```

    Acts on entry functions with several meshes, also on loops in branches of
    conditionals. Leaves alone loops whose trip count is unknown or above
    `max-trips`, and those that combine larger values of different meshes.
    Analyses a copy of the module with branches inlined if it has a loop with
    few iterations. Cost: linear in what is unrolled times iterations.
  }];
  let options = [
    Option<"maxTrips", "max-trips", "unsigned", "64",
    "Maximum trip count of a loop to unroll.">,
  ];
  let statistics = [
    Statistic<"numUnrolled", "num-unrolled", "Loops unrolled">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

#endif
