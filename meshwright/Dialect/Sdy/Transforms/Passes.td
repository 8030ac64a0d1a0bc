//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_DIALECT_SDY_TRANSFORMS_PASSES_TD
#define MESHWRIGHT_DIALECT_SDY_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

let dependentDialects = ["::mlir::sdy::SdyDialect"] in {

def AddDataFlowEdgesPass
    : Pass<"sdy-add-data-flow-edges", "::mlir::ModuleOp"> {
  let summary = "Gives each data-flow edge an op that holds its sharding";
  let description = [{
    Inserts a `sdy.data_flow_edge` after every owner of an edge that has a
    static shape: at the start of the block for block arguments, after the op
    for results, in the order of the owners. The edge op gets the sharding of the
    owner and takes over all its uses.

    ```mlir
    %0 = stablehlo.optimization_barrier %x : tensor<8xf32>
    // becomes
    %0 = stablehlo.optimization_barrier %x : tensor<8xf32>
    %1 = sdy.data_flow_edge %0 : tensor<8xf32>
    ```

    The shardings stored in the data-flow op itself are not updated until
    sdy-sink-data-flow-edges. Leaves alone owners that already feed an edge op,
    and ops whose body only calls shared bodies, whose edges need no ops.
  }];
  let statistics = [
    Statistic<"numEdges", "num-edges", "Edge ops inserted">,
  ];
}

def ApplyShardingConstraintsPass
    : Pass<"sdy-apply-sharding-constraints", "::mlir::ModuleOp"> {
  let summary = "Moves sharding constraints to the values they constrain";
  let description = [{
    Processes in order every `sdy.sharding_constraint`, and every in-sharding of
    a `sdy.manual_computation`, as a constraint on a value.

    A value without sharding gets that of the constraint if all of its
    dimensions are closed and no other constraint differs:

    ```mlir
    %0 = stablehlo.sine %x : tensor<8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"} ]> : tensor<8xf32>
    // becomes
    %0 = stablehlo.sine %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"} ]>]>} : tensor<8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"} ]> : tensor<8xf32>
    ```

    The target of a data-flow edge is left to the source of the edge: there the
    constraint moves after the value and takes over all its other uses. If a
    value without sharding only meets a chain of constraints, its uses after
    the chain read the end of the chain; `func.return` does not.
  }];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Shardings taken from constraints">,
  ];
}

def CloseShardingsPass : Pass<"sdy-close-shardings", "::mlir::ModuleOp"> {
  let summary = "Closes all dimensions of all shardings";
  let description = [{
    Empties the lists of replicated axes too; they only matter in open
    dimensions.

    ```mlir
    #sdy.sharding<@mesh, [{"x", ?}, {?} ], replicated={"y"}>
    // becomes
    #sdy.sharding<@mesh, [{"x"}, {} ]>
    ```

    Keeps axes, unreduced axes, and the priorities of dimensions with axes.
  }];
  let statistics = [
    Statistic<"numClosed", "num-closed", "Shardings closed">,
  ];
}

def ConstantOrScalarMergerPass
    : Pass<"sdy-constant-or-scalar-merger", "::mlir::func::FuncOp"> {
  let summary = "Merges equal constants that are sharded alike";
  let description = [{
    Undoes sdy-constant-or-scalar-splitter where copies are sharded alike:
    constants with equal attributes, `sdy.sharding` included, become one in each
    region, and so do broadcasts of one scalar to one type.

    ```mlir
    %0 = sdy.constant dense<0.0> : tensor<8xf32>
    %1 = sdy.constant dense<0.0> : tensor<8xf32>
    // becomes
    %0 = sdy.constant dense<0.0> : tensor<8xf32>
    ```
  }];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Ops replaced by an equal one">,
  ];
}

def ConstantOrScalarSplitterPass
    : Pass<"sdy-constant-or-scalar-splitter", "::mlir::ModuleOp"> {
  let summary = "Gives each use of a constant its own copy";
  let description = [{
    Lets each use of a constant be sharded on its own. Every `stablehlo.constant`
    becomes a `sdy.constant`, which nothing merges. Then each operand that is
    computed from constants only, or that is the broadcast of a scalar, becomes
    a copy of all ops that compute it; scalars stay shared.

    ```mlir
    %0 = stablehlo.constant dense<0.0> : tensor<8xf32>
    %1 = stablehlo.add %0, %x : tensor<8xf32>
    %2 = stablehlo.add %0, %y : tensor<8xf32>
    // becomes
    %0 = sdy.constant dense<0.0> : tensor<8xf32>
    %1 = sdy.constant dense<0.0> : tensor<8xf32>
    %2 = stablehlo.add %0, %x : tensor<8xf32>
    %3 = stablehlo.add %1, %y : tensor<8xf32>
    ```

    Copies are placed before what they copy and join its sharding groups; originals
    that nothing else uses are erased. Fails if it would copy more than
    `max-copied-ops` operations.
  }];
  let options = [
    Option<"maxCopiedOps", "max-copied-ops", "int64_t",
           /*default=*/"meshwright::kMaxInlinedOps",
           "Maximum number of operations to copy; exceeding it is an error.">,
  ];
  let statistics = [
    Statistic<"numCopies", "num-copies", "Operations copied">,
  ];
}

def DropShardingRulesPass
    : Pass<"sdy-drop-sharding-rules", "::mlir::func::FuncOp"> {
  let summary = "Removes sharding rules that the user did not write";
  let description = [{
    ```mlir
    %0 = stablehlo.sine %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : tensor<8xf32>
    // becomes
    %0 = stablehlo.sine %x : tensor<8xf32>
    ```

    Keeps rules marked as custom.
  }];
  let statistics = [
    Statistic<"numRules", "num-rules", "Rules removed">,
  ];
}

def LiftInlinedMeshesPass : Pass<"sdy-lift-inlined-meshes", "::mlir::ModuleOp"> {
  let summary = "Makes all shardings refer to meshes by name";
  let description = [{
    Equal meshes become one. A mesh that is written inside a sharding, or in the
    replica groups of a collective, is replaced by a reference to an equal one,
    which is added as `@mesh`, `@empty_mesh` or `@maximal_mesh_<id>` if there is
    none. Each mesh gets its StableHLO form as a discardable attribute.

    ```mlir
    #sdy.sharding<mesh<["x"=2]>, [{"x"} ]>
    // becomes
    sdy.mesh @mesh = <["x"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64} ]}}
    #sdy.sharding<@mesh, [{"x"} ]>
    ```
  }];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Mesh ops replaced by an equal one">,
    Statistic<"numLifted", "num-lifted", "Mesh ops added">,
  ];
}

def ManualAxesCleanupPass
    : Pass<"sdy-manual-axes-cleanup", "::mlir::ModuleOp"> {
  let summary = "Adds missing manual axes to shardings of manual computations";
  let description = [{
    Sorts the manual axes in the order of the mesh and adds those that a
    sharding does not mention to its replicated axes.

    ```mlir
    in_shardings=[<@mesh, [{"y"} ]>] … manual_axes={"y", "x"}
    // becomes
    in_shardings=[<@mesh, [{"y"} ], replicated={"x"}>] … manual_axes={"x", "y"}
    ```

    Fails on a computation with manual axes and a body but without operands and
    results, as its mesh is unknown.
  }];
  let statistics = [
    Statistic<"numChanged", "num-changed", "Manual computations changed">,
  ];
}

def PopulateOpShardingRulesPass
    : Pass<"sdy-populate-op-sharding-rules", "::mlir::func::FuncOp"> {
  let summary = "Stores the sharding rule of each op as an attribute";
  let description = [{
    For inspection: stores on every op through which shardings propagate the
    rule that propagation would use.

    ```mlir
    %0 = stablehlo.dot %x, %y : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    // becomes
    %0 = stablehlo.dot %x, %y {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=2, k=4} reduction={k}>} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    ```

    Keeps existing rules. Warns, once per process, about an op without a known
    rule. sdy-drop-sharding-rules removes the rules again.
  }];
  let statistics = [
    Statistic<"numRules", "num-rules", "Ops with a rule">,
  ];
}

def PropagateToFuncResultsPass
    : Pass<"sdy-propagate-to-func-results", "::mlir::ModuleOp"> {
  let summary = "Copies shardings of returned values to function results";
  let description = [{
    ```mlir
    func.func private @f(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"} ]>}) -> tensor<8xf32>
    // returning %x becomes
    func.func private @f(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"} ]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"} ]>})
    ```

    Leaves alone the main function (the only one, or the one called `main`), and
    results of which the returned value has no sharding.
  }];
  let statistics = [
    Statistic<"numResults", "num-results", "Results given a sharding">,
  ];
}

def RemoveSizeOneAxesPass
    : Pass<"sdy-remove-size-one-axes", "::mlir::ModuleOp"> {
  let summary = "Removes axes of size 1 from shardings";
  let description = [{
    Such axes split nothing, but can keep other axes from propagating.

    ```mlir
    sdy.mesh @mesh = <["x"=2, "one"=1]>
    #sdy.sharding<@mesh, [{"x", "one"} ], replicated={"one"}>
    // becomes
    #sdy.sharding<@mesh, [{"x"} ]>
    ```

    A closed dimension that has no axes left loses its priority. Keeps meshes
    and manual axes.
  }];
  let statistics = [
    Statistic<"numChanged", "num-changed", "Shardings with fewer axes">,
  ];
}

def RemoveSubAxesInInputOutputShardingsPass
    : Pass<"sdy-remove-sub-axes-in-input-output-shardings",
           "::mlir::ModuleOp"> {
  let summary = "Truncates open dimensions of the signature at sub-axes";
  let description = [{
    In the main function, the only one or the one called `main`, the open
    dimensions of argument and result shardings keep only the axes before their
    first sub-axis.

    ```mlir
    #sdy.sharding<@mesh, [{"x", "y":(1)2, "z", ?} ]>
    // becomes
    #sdy.sharding<@mesh, [{"x", ?} ]>
    ```

    Leaves closed dimensions alone: the user wrote those.
  }];
  let statistics = [
    Statistic<"numCut", "num-cut", "Shardings truncated">,
  ];
}

def ShardingGroupImportPass
    : Pass<"sdy-sharding-group-import", "::mlir::ModuleOp"> {
  let summary = "Merges sharding groups with common values";
  let description = [{
    Renumbers the groups from 0, in the order of the smallest id they had, and
    erases a second membership of a value in one group.

    ```mlir
    sdy.sharding_group %a group_id=7 : tensor<8xf32>
    sdy.sharding_group %a group_id=9 : tensor<8xf32>
    sdy.sharding_group %b group_id=9 : tensor<8xf32>
    // becomes
    sdy.sharding_group %a group_id=0 : tensor<8xf32>
    sdy.sharding_group %b group_id=0 : tensor<8xf32>
    ```

    Fails if members of a group have different shapes or are in different manual
    computations.
  }];
  let statistics = [
    Statistic<"numErased", "num-erased", "Duplicate memberships erased">,
  ];
}

def SinkDataFlowEdgesPass
    : Pass<"sdy-sink-data-flow-edges", "::mlir::func::FuncOp"> {
  let summary = "Puts the shardings of edge ops back into data-flow ops";
  let description = [{
    If an edge op of the block arguments of a data-flow op has a sharding, the
    shardings of all these block arguments are written: those of the edge ops,
    fully open ones where there is none. Likewise for results. Then every edge
    op is replaced by its operand.

    ```mlir
    %0 = stablehlo.optimization_barrier %x : tensor<8xf32>
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"} ]> : tensor<8xf32>
    // becomes
    %0 = stablehlo.optimization_barrier %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"} ]>]>} : tensor<8xf32>
    ```

    Leaves the shardings of a data-flow op alone where no edge op has one.
  }];
  let options = [
    Option<"sinkDebugShardingOrigins", "sink-debug-sharding-origins", "bool",
           /*default=*/"false",
           "Also move the discardable attribute `sdy.sharding_origins` of edge "
           "ops to the data-flow op.">,
    Option<"sinkDebugPropagationEdgeSharding",
           "sink-debug-propagation-edge-sharding", "bool",
           /*default=*/"false",
           "Also move the discardable attribute `sdy.propagation_edges` of edge "
           "ops to the data-flow op.">,
  ];
  let statistics = [
    Statistic<"numEdges", "num-edges", "Edge ops removed">,
  ];
}

def UpdateNonDivisibleInputOutputShardingsPass
    : Pass<"sdy-update-non-divisible-input-output-shardings",
           "::mlir::ModuleOp"> {
  let summary = "Removes axes that do not divide a dimension evenly";
  let description = [{
    Where axes do not divide their dimension evenly, keeps the longest leading
    run of them that does; the last one may become a sub-axis.

    ```mlir
    sdy.mesh @mesh = <["x"=2, "y"=4]>
    tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"} ]>}
    // becomes
    tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y":(1)2} ]>}
    ```

    Acts on function arguments and results, results of calls, and on values of
    ops that ask for even shardings, such as fragments and transfers. A dimension
    that changes loses its priority. Leaves other values alone.
  }];
  let statistics = [
    Statistic<"numChanged", "num-changed", "Shardings made to divide">,
  ];
}

} // dependentDialects

#endif
