//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_IMPORT_INFERMESH_PASSES_TD
#define MESHWRIGHT_IMPORT_INFERMESH_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

let dependentDialects = ["::mlir::mpmd::MpmdDialect"] in {

def InferMeshAssignMeshFuncLeavesPass
    : Pass<"mpmd-infer-mesh-assign-mesh-func-leaves", "::mlir::ModuleOp"> {
  let summary = "Assigns outputs and unused values to meshes";
  let description = [{
    Assigns what no assign would reach otherwise: outputs and unused inputs of
    entry points, unused results, operands of broadcasts and reduces.
    A value goes to a mesh where it is available, one where it is used already if
    there is one; a value that is available anywhere and is not used goes to the
    first mesh. Unused arguments and results of callees get a use set.

    ```mlir
    %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<"m2">}
    return %0 : tensor<4xf32>
    // becomes
    %0 = stablehlo.sine %p {mpmd.src_set = #mpmd.meshes_with_origins<"m2">}
    %1 = mpmd.assign {origin = "inferred_out"} %0 : (tensor<4xf32>) -> !m2
    return %1 : !m2
    ```

    Ops without tensor results are wrapped into a fragment on each mesh of their
    src set, on the first one only if they are pure or have effects.
    DEPARTURE(effects-once): the reference repeats effects on each mesh.

    Requires src sets that are not empty, or `infer-transfers`. Drops the use
    sets of computations, barriers and function arguments, which are stale
    afterwards. Leaves src sets alone, and ops in regions of computations.
    Cost: linear in the size of the program.
  }];
  let options = [
    Option<"inferTransfers", "infer-transfers", "bool", /*default=*/"false",
           "Assign values with no candidate mesh to the first mesh.">,
    Option<"errorLimit", "error-limit", "int", /*default=*/"5",
           "Number of errors after which to stop; -1 for no limit.">,
  ];
  let statistics = [
    Statistic<"numAssigned", "num-assigned", "Values assigned to a mesh">,
  ];
}

def InferMeshAssignUsingInputOutputConstraintsPass
    : Pass<"mpmd-infer-mesh-assign-using-input-output-constraints",
           "::mlir::ModuleOp"> {
  let summary = "Assigns constrained pairs of inputs and outputs to one mesh";
  let description = [{
    For each constraint, in order, chooses a mesh on which the input is used and
    the output is used or available, and assigns both to it. Without such a
    mesh nothing happens.

    ```mlir
    // constraints=0:0
    func.func @f(%p: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sine %p : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // becomes
    func.func @f(%p: !m2) -> !m2 {
      %u = mpmd.unassign {origin = "io_constraint_in"} %p : (!m2) -> tensor<4xf32>
      %0 = stablehlo.sine %u : tensor<4xf32>
      %1 = mpmd.assign {origin = "io_constraint_out"} %0 : (tensor<4xf32>) -> !m2
      return %1 : !m2
    }
    ```

    Acts on entry points. Requires use sets and src sets, or mesh types on input
    or output. Leaves all sets as they are. Cost: linear in the number of
    constraints and of the uses of the inputs.
  }];
  let options = [
    ListOption<"constraints", "constraints",
               "::mlir::mpmd::InputOutputConstraint",
               "Pairs input:output to assign to one mesh.">,
    Option<"verboseLogging", "verbose-logging", "bool", /*default=*/"false",
           "Log the choice for each constraint.">,
  ];
  let statistics = [
    Statistic<"numConstraints", "num-constraints", "Constraints met">,
  ];
}

def InferMeshConvertReduceOpsPass
    : Pass<"mpmd-infer-mesh-convert-reduce-ops", "::mlir::func::FuncOp"> {
  let summary = "Turns sums across meshes into mpmd.reduce";
  let description = [{
    Converts ops marked with `mpmd.reduce` by mpmd-infer-mesh-populate-src-set,
    all of them or those after an `mpmd.reduce<none>`. Operands that are
    reduces of the same kind are replaced by their operands.

    ```mlir
    %2 = stablehlo.add %0, %1 {mpmd.reduce = #mpmd.reduction<add>}
    %3 = stablehlo.add %2, %0 {mpmd.reduce = #mpmd.reduction<add>}
    // becomes
    %3 = mpmd.reduce<add> %0, %1, %0
    ```

    Operands that have other readers are replaced by at most 16 values in all.

    A reduce of a concatenation of pieces becomes an mpmd.reduce of the reshaped
    pieces. The new op keeps `mpmd.src_set` and no other attribute.
    DEPARTURE(reduction-init): with `keep-init-values`, an init value that is
    not the identity is one more operand; without it, it is dropped as by the
    reference.

    Acts on any function; requires src sets. Leaves alone: marked ops that may
    not be converted. Cost: linear in the size of the program.
  }];
  let options = [
    Option<"inferCrossMeshReductions", "infer-cross-mesh-reductions", "bool",
           /*default=*/"false", "Convert every op that is marked.">,
    Option<"keepInitValues", "keep-init-values", "bool", /*default=*/"false",
           "Make an init value that is not the identity an operand.">,
  ];
  let statistics = [
    Statistic<"numReduces", "num-reduces",
              "Reductions across meshes created">,
  ];
}

def InferMeshFinalizePass
    : Pass<"mpmd-infer-mesh-finalize", "::mlir::ModuleOp"> {
  let summary = "Resolves the assigns that mesh inference has left";
  let description = [{
    Types the inputs of entry points by their assigns, then replaces assigns of
    unassigned values: in the same memory of a mesh by the value, elsewhere by a
    transfer. Values of several meshes are computed or sent around in mesh
    order. What an entry point returns stays in the memory that it is in unless
    its assign names another.

    ```mlir
    %1 = mpmd.unassign %0 : (!m1) -> tensor<4xf32>
    %2 = mpmd.assign %1 : (tensor<4xf32>) -> !m3
    %3 = mpmd.assign %1 : (tensor<4xf32>) -> !m2
    // becomes
    %3 = mpmd.transfer %0 : (!m1) -> !m2
    %2 = mpmd.transfer %3 : (!m2) -> !m3
    ```

    Requires mpmd-infer-mesh-rewrite-using-analysis. Transfers are added for
    inputs of entry points, broadcasts and reduces, for other values only with
    `infer-transfers`. Removes dead code in the whole module and the sets of all
    MPMD functions; then no assign, unassign, broadcast or op without mesh may
    be left. Cost: that of greedy rewriting, linear in practice.
  }];
  let options = [
    Option<"inferTransfers", "infer-transfers", "bool", /*default=*/"false",
           "Add a transfer wherever a value is needed on another mesh.">,
    Option<"copyBetweenMemories", "copy-between-memories", "bool",
           /*default=*/"false",
           "Copy an argument that is needed in several memories.">,
  ];
  let statistics = [
    Statistic<"numArguments", "num-arguments",
              "Arguments assigned to a mesh">,
    Statistic<"numAssigns", "num-assigns", "Assigns resolved">,
    Statistic<"numTransfers", "num-transfers", "Transfers created">,
    Statistic<"numSets", "num-sets", "Mesh sets removed">,
  ];
}

def InferMeshPopulateSrcSetPass
    : Pass<"mpmd-infer-mesh-populate-src-set", "::mlir::ModuleOp"> {
  let summary = "Computes the candidate meshes of each value";
  let description = [{
    Propagates forwards, by intersection, from unassigns and inputs: an op can
    be placed where all its operands are available. Inputs of entry points are
    available wherever they are used, and a value that is transferred also where it is
    transferred to. The result is `mpmd.src_set`; none means anywhere.

    ```mlir
    %1 = mpmd.unassign %f : (!m1) -> tensor<4xf32>
    %2 = stablehlo.sine %1 : tensor<4xf32>
    // becomes
    %1 = mpmd.unassign {mpmd.src_set = #mpmd.meshes_with_origins<"m1">} %f
    %2 = stablehlo.sine %1 {mpmd.src_set = #mpmd.meshes_with_origins<"m1">}
    ```

    A reduction whose operands have no mesh in common is marked with
    `mpmd.reduce` and gets the union of their sets; so does one of the same kind
    that follows. Requires use sets. Leaves the program alone otherwise.
    Cost: linear in the size of the program; a callee is walked again if a call
    changes the sets of its arguments.
  }];
  let statistics = [
    Statistic<"numSets", "num-sets", "Changes of sets">,
  ];
}

def InferMeshPopulateUseSetPass
    : Pass<"mpmd-infer-mesh-populate-use-set", "::mlir::ModuleOp"> {
  let summary = "Computes the meshes on which values are needed";
  let description = [{
    Propagates backwards, by union, from assigns: an op is needed where its
    results are. The result is `mpmd.use_set`, in use-list order, with the
    origins of the assigns as labels; sets that are there already are extended.

    ```mlir
    %1 = stablehlo.sine %0 : tensor<4xf32>
    %2 = mpmd.assign {origin = "f"} %1 : (tensor<4xf32>) -> !m1
    // becomes
    %1 = stablehlo.sine %0 {mpmd.use_set = #mpmd.meshes_with_origins<"m1"["f"]>}
    %2 = mpmd.assign {mpmd.use_set = #mpmd.meshes_with_origins<"m1"["f"]>, origin = "f"} %1
    ```

    Starts at entry points and follows calls. Broadcasts and reduces need
    nothing of their operands. Requires nothing; leaves the program alone
    otherwise. Cost: linear in the size of the program; a callee is walked again
    if a call needs its results on more meshes.
  }];
  let statistics = [
    Statistic<"numSets", "num-sets", "Changes of sets">,
  ];
}

def InferMeshRewriteUsingAnalysisPass
    : Pass<"mpmd-infer-mesh-rewrite-using-analysis", "::mlir::ModuleOp"> {
  let summary = "Moves or clones every op into the fragments that use it";
  let description = [{
    From the last op to the first: an op that a single fragment uses moves into
    it, an op that a few use is cloned into each, any other gets fragments of
    its own, one per mesh.

    ```mlir
    %1 = stablehlo.sine %0 : tensor<4xf32>
    %2 = mpmd.assign %1 : (tensor<4xf32>) -> !m1
    // becomes, with the use of %2 reading %4 by way of an unassign
    %3 = mpmd.assign %0 : (tensor<4xf32>) -> !m1
    %4 = mpmd.fragment<mesh="m1", origin=[]> (%3) {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]} (%arg: tensor<4xf32>) {
      %5 = stablehlo.sine %arg : tensor<4xf32>
      mpmd.return %5 : tensor<4xf32>
    } : (!m1) -> !m1
    ```

    Arguments and results of callees that are used on several meshes get copies
    at the end of the list, at the positions given by `mpmd.copies`.

    Requires use sets and that every leaf is assigned. Leaves inputs of entry
    points to mpmd-infer-mesh-finalize, together with assigns of unassigned
    values. Cost: linear in the size of the program and of what is cloned.
  }];
  let options = [
    Option<"maxClones", "max-clones", "int", /*default=*/"1",
           "Maximum number of fragments into which an expensive op is "
           "cloned.">,
  ];
  let statistics = [
    Statistic<"numOps", "num-ops", "Operations moved into fragments">,
    Statistic<"numCalls", "num-calls", "Calls and loops rewritten">,
    Statistic<"numCopies", "num-copies", "Arguments and results added">,
  ];
}

def InferMeshValidateNoAdditionalTransfersNeededPass
    : Pass<"mpmd-infer-mesh-validate-no-additional-transfers-needed",
           "::mlir::ModuleOp"> {
  let summary = "Reports values that are needed where they are unavailable";
  let description = [{
    Fails if the use set of an op, assign or argument is not within its src set,
    and reports the last one of each chain of such ops. Also reports results
    that one call passes to another of the same function but that are needed on
    other meshes than the argument.

    ```mlir
    %1 = mpmd.unassign %f : (!m1) -> tensor<4xf32>
    %2 = stablehlo.sine %1 : tensor<4xf32>           // reported
    %3 = mpmd.assign %2 : (tensor<4xf32>) -> !m2     // reported
    ```

    Requires use sets and src sets. Changes nothing if it succeeds; otherwise
    `mpmd.visited_failure` marks what failed. Cost: linear in the size of the
    program, and again for each error.
  }];
  let options = [
    Option<"errorLimit", "error-limit", "int", /*default=*/"5",
           "Number of errors after which to stop; -1 for no limit.">,
  ];
}

def InferMeshValidateSrcSetNotEmptyPass
    : Pass<"mpmd-infer-mesh-validate-src-set-not-empty", "::mlir::ModuleOp"> {
  let summary = "Reports values without a candidate mesh";
  let description = [{
    Fails if the src set of an op or argument is empty, or if a reduction across
    meshes was not converted, and reports the first one of each chain.

    ```mlir
    %3 = stablehlo.power %on_m1, %on_m2 {mpmd.src_set = #mpmd.meshes_with_origins<>}  // reported
    %4 = stablehlo.sine %3 {mpmd.src_set = #mpmd.meshes_with_origins<>}
    ```

    Requires src sets. Changes nothing. Cost: linear in the size of the program,
    and again for each error.
  }];
  let options = [
    Option<"errorLimit", "error-limit", "int", /*default=*/"5",
           "Number of errors after which to stop; -1 for no limit.">,
  ];
}

def ReportPlacementPass
    : Pass<"mpmd-report-placement", "::mlir::ModuleOp"> {
  let summary = "Reports large inputs that inference moved to other meshes";
  let description = [{
    Emits remarks on MPMD entry functions after mesh inference:

    - inputs that named computations read on some meshes, and that an operation
      without a name reads on another one;
    - state (an input of which a result has the type) that no named computation
      reads, if it meets, element by element, values that are sent from or to other
      meshes, and none that a named computation has on its own mesh.

    ```mlir
    // remark: an operation without a name brings inputs to mesh "a", on which no
    // named computation reads them: w[1] (16384 bytes, read by "g" on mesh "b")
    func.func @main(%w0: !a, %w1: !a) {
      %t = mpmd.transfer %w1 : (!a) -> !b
      mpmd.fragment<mesh="b", origin=["g"]> (%t) ...
      mpmd.fragment<mesh="a", origin=[]> (%w0, %w1) ...
    ```

    Skips scalars, integers, and inputs that are small compared with the sum of
    all. Changes nothing. Cost: linear in the reads of inputs.
  }];
  let options = [
    Option<"inputAssignment", "input-assignment", "IndexAssignment",
           /*default=*/"",
           "Meshes that the user chose for arguments: index@mesh, separated "
           "by commas.">,
  ];
}

def VerifyPlacementPass : MpmdProgramPass<"mpmd-verify-placement"> {
  let summary = "Checks that every computation and value has a mesh";
  let description = [{
    The contract between import and the phases after it. In an entry function
    every operation is a fragment, a fragment call, a transfer or the return,
    and every argument and result is a mesh tensor or a token.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>  // error: no mesh
    ```

    Acts on entry functions that are MPMD functions; changes nothing. Reports
    every operation that is not placed, with a note at each operand that is.
    Cost: linear in the operations of the function body.
  }];
}

} // dependentDialects

#endif
