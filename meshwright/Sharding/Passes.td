//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_SHARDING_PASSES_TD
#define MESHWRIGHT_SHARDING_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def ConvertSdyConstantsPass
    : Pass<"mpmd-convert-sdy-constants", "::mlir::func::FuncOp"> {
  let summary = "Converts sdy.constant to stablehlo.constant";
  let description = [{
    Propagation turns constants into `sdy.constant`, which nothing folds or
    merges. This undoes it.

    ```mlir
    %0 = sdy.constant dense<1.0> : tensor<8xf32>
    // becomes
    %0 = stablehlo.constant dense<1.0> : tensor<8xf32>
    ```

    Acts on every function, at any depth. Constants keep value, type, location
    and all attributes. Cost: linear.
  }];
  let statistics = [
    Statistic<"numConstants", "num-constants", "Constants converted">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

def ConvertSdyShardingsToMpmdTypesPass
    : Pass<"mpmd-convert-sdy-shardings-to-mpmd-types", "::mlir::func::FuncOp"> {
  let summary = "Moves shardings from attributes into the types of values";
  let description = [{
    Gives the operands and results of fragments, transfers and loops, and the
    arguments of the function, types with the shardings that attributes state,
    and removes these attributes.

    ```mlir
    func.func @f(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"} ]>}) -> !m {
      %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"x"} ]>]> (%a) ...
    // with !m_x being !m with sharding=<@g, [{"x"} ]>, becomes
    func.func @f(%a: !m_x) -> !m {
      %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) ...
    ```

    Acts on distributed functions. A value without sharding keeps its type. The
    last of several users that state the sharding of a value wins, a function
    argument's own sharding over all of them. Results of the function have the
    types of what is returned; their attributes are removed without effect.
    Leaves alone: what `sdy` ops state, and `sdy.sharding` of `stablehlo.send`
    and `stablehlo.recv`. Reports the first transfer that would have to reshard,
    without failing. Cost: linear in operands and results.
  }];
  let statistics = [
    Statistic<"numTypes", "num-types", "Types given a sharding">,
    Statistic<"numAttributes", "num-attributes", "Sharding attributes removed">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def DeferReductionsPass : MpmdFunctionPass<"mpmd-defer-reductions"> {
  let summary = "Defers reductions of partial sums to the last microbatch";
  let description = [{
    A dot product, sum, convolution or scatter over a dimension that is split
    over devices needs a reduction over them. Where its result is only added,
    reshaped, scaled or masked by values that each of these devices holds, in
    its fragment or in later ones of its mesh, only the final value is reduced,
    for the first other reader. Until then, partial sums are in a leading
    dimension that is sharded over these devices.

    ```mlir
    %g1 = fragment ... %d = dot_general %x, %y, contracting_dims = [0] x [0]
        // %x and %y: 8x4, [{"d"}, {} ], two devices; all-reduce of 4x4
    %g2 = fragment(%g1) ... %d = dot_general ...; %s = add %g1, %d
    // becomes, with %x2 = reshape %x to 2x4x4, [{"d"}, {}, {} ]
    %g1 = fragment ... %d = dot_general %x2, %y2, batching_dims = [0] x [0],
                                        contracting_dims = [1] x [1] // 2x4x4
    %g2 = fragment(%g1) ... %s = add %g1, %d     // 2x4x4
    // and where %g2 is read: reduce %g2 over [0], all-reduce of 4x4
    ```

    Acts on MPMD functions, between propagation and
    `mpmd-convert-sdy-shardings-to-mpmd-types`. Sums in another order than
    before: results are equal to rounding. Values that are unreduced together
    are left alone where that would reduce no fewer bytes, with a remark that
    says which use needs the sum. Leaves alone: values that are transferred or
    returned, sub-axes. Cost: linear in ops and uses.
  }];
  let statistics = [
    Statistic<"reductionsDeferred", "reductions-deferred",
              "Reductions deferred">,
    Statistic<"reductionsLeft", "reductions-left",
              "Reductions of deferred sums">,
  ];
}

def EnforceUserShardingsPass : MpmdProgramPass<"mpmd-enforce-user-shardings"> {
  let summary = "Enforces the shardings of the signature";
  let description = [{
    Sets the shardings of function arguments and results on what reads and makes
    them: fragments that read an argument, fragments and transfers that make a
    result, fragments that read a result.

    ```mlir
    func.func @f(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x", "y":(1)2}, {} ]>}) {
      %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{}, {"y"} ]>]> (%a) ...
    // becomes
    func.func @f(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {} ]>}) {
      %0 = mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{"x"}, {} ]>]> (%a) ...
    ```

    Acts on MPMD functions that are entry points, after propagation. Each
    dimension is first cut at its first sub-axis, and closed if that removes
    something; the first argument and the first result of the process to which
    this happens cause a warning. The attribute of a result keeps its text, the
    value that is returned gets the truncated sharding. Leaves alone: transfers
    that read an argument or a result, and other ops at either end. Cost: linear
    in the uses of arguments and results.
  }];
  let statistics = [
    Statistic<"numTruncated", "num-truncated",
              "Arguments and results truncated">,
    Statistic<"numEnforced", "num-enforced",
              "Values and reads given their shardings">,
  ];
}

def ExtractReshardsFromInterMeshTransfersPass
    : DistributedFunctionPass<"mpmd-extract-reshards-from-inter-mesh-transfers"> {
  let summary = "Moves reshards from transfers into fragments";
  let description = [{
    Moves the change of sharding of a transfer to one of its ends, so that the
    transfer copies each device's piece as it is.

    ```mlir
    %t = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"} ]>]>} %a // %a is [{"x"}, {} ]
    return %t
    // becomes
    %t = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {} ]>]>} %a
    %k = mpmd.fragment<mesh="m2", origin=[], out_shardings=[<@g, [{}, {"x"} ]>]> (%t) {mpmd.inferred_by = ["extract_reshards"]} ...
    return %k
    ```

    The producer reshards if the destination is in host memory, or if a device
    then has less to send; else the consumer does. A fragment that makes or
    reads the value takes the new sharding; other ends, and other transfers and
    returns of the value, get a fragment of their own.

    Acts on MPMD functions whose meshes are alike but for axes of size 1, on all
    transfers; requires shardings in attributes. Reports transfers from host to
    host, without failing, and warns of the first reshard of the process.
    Leaves alone: the signature, and fragments that read a value whose producer
    reshards. A transfer that is replaced loses its other attributes. Cost:
    linear in transfers and the uses of what they read and make.
  }];
  let statistics = [
    Statistic<"numReshards", "num-reshards", "Reshards taken out">,
  ];
}

def ForgetInnerShardingsPass : MpmdFunctionPass<"mpmd-forget-inner-shardings"> {
  let summary = "Removes shardings that fragments do not pass to their compiler";
  let description = [{
    Drops the shardings of ops in fragments. Propagated again from what is left,
    they are those that the fragment's own compiler finds.

    ```mlir
    %0 = fragment<in_shardings=[[{"d"}, {} ], [{"d"}, {} ] ]> (%x, %w) ...
      %y = dot %x, %w {sdy.sharding = [{}, {"d"} ]}
    // becomes
    %0 = fragment<in_shardings=[[{"d"}, {} ], [{"d"}, {} ] ]> (%x, %w) ...
      %y = dot %x, %w
    ```

    Acts on MPMD functions. Leaves alone: inputs and results of fragments,
    constraints, manual computations, everything outside of fragments. Cost:
    linear in ops.
  }];
  let statistics = [
    Statistic<"numForgotten", "num-forgotten", "Shardings removed">,
  ];
}

def HoistInvariantComputationsPass
    : MpmdFunctionPass<"mpmd-hoist-invariant-computations"> {
  let summary = "Hoists computations that all microbatches share";
  let description = [{
    What several fragments of a stage compute from the program's inputs alone, by
    loops and branches too, moves into a fragment before them; so does the
    gathering of an operand whose axes split the result in another dimension, or
    of what a constraint asks for whole: in the narrower type, if it is converted
    to one. What another mesh sends of the inputs counts as an input. With deferral,
    so does the gathering of what scales or masks sums over the devices that split it,
    such as `2 * w` in the gradient of `w ** 2`.

    ```mlir
    %0 = fragment (%w, %x) ... %c = convert %w // to bf16; %w is [{"d"}, {} ]
                               %y = dot %x, %c // %x is [{"d"}, {} ]
    %1 = fragment (%w, %z) ... %c = convert %w; %y = dot %z, %c
    // becomes
    %h = fragment<origin=["hoisted"], out_shardings=[[{}, {} ]]> (%w) ... convert
    %0 = fragment (%x, %h) ... %y = dot %x, %h
    %1 = fragment (%z, %h) ... %y = dot %z, %h
    ```

    Acts on MPMD functions, between propagation and
    `mpmd-convert-sdy-shardings-to-mpmd-types`. What saves most bytes goes
    first, as long as what is kept fits the limit, or the memory that the values
    of the program and the temporaries of its fragments leave free. Leaves
    alone: ops with effects, also in their regions, what only copies, what is
    larger than its inputs, inputs in host memory. Cost: linear in ops and uses.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", /*default=*/"-1",
           "Maximum number of bytes to keep on each device; if negative, "
           "the free memory.">,
    Option<"memory", "memory", "int64_t", /*default=*/"0",
           "Memory of each device in bytes, from which the free memory "
           "follows; 0 for unlimited.">,
    Option<"device", "device", "::meshwright::TextOption", /*default=*/"",
           "Device whose padding of arrays counts, as for `simulate "
           "--device`; if empty, arrays have no padding.">,
    Option<"withDeferral", "with-deferral", "bool", /*default=*/"false",
           "Also gather what scales or masks sums over devices, so that "
           "mpmd-defer-reductions can defer them.">,
  ];
  let statistics = [
    Statistic<"valuesHoisted", "values-hoisted", "Values computed once">,
  ];
}

def OptimizeDistinctBodiesPass
    : Pass<"mpmd-optimize-distinct-bodies", "::mlir::func::FuncOp"> {
  let summary = "Optimizes the body of equal fragments once";
  let description = [{
    Does what `stablehlo-target-independent-optimization` does to a function,
    at a cost that grows with its distinct fragments: equal bodies are optimized
    once and copied.

    ```mlir
    %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%x: tensor<4xf32>) {
      %z = stablehlo.constant dense<0.0> : tensor<4xf32>
      %s = stablehlo.add %x, %z : tensor<4xf32>
      mpmd.return %s : tensor<4xf32>
    } : (!m1) -> !m1
    // becomes
    %1 = mpmd.fragment<mesh="m1", origin=["f"]> (%0) (%x: tensor<4xf32>) {
      mpmd.return %x : tensor<4xf32>
    } : (!m1) -> !m1
    ```

    Copies have the locations of the first of their kind. A function that has
    other things to optimize than the bodies of fragments is optimized whole.
  }];
  let statistics = [
    Statistic<"numDistinct", "num-distinct", "Distinct bodies">,
    Statistic<"numBodies", "num-bodies", "Distinct bodies changed">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

def PopulateUnreducedOutShardingPass
    : Pass<"mpmd-populate-unreduced-out-sharding", "::mlir::func::FuncOp"> {
  let summary = "Makes results of fragments unreduced where the body says so";
  let description = [{
    Where a body returns the result of a constraint with unreduced axes, the
    result of the fragment gets these axes.

    ```mlir
    %0 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: tensor<8xf32>) {
      %c = sdy.sharding_constraint %x <@g, [{} ], unreduced={"x"}> : tensor<8xf32>
      mpmd.return %c : tensor<8xf32>
    } : (!m) -> !m
    // becomes
    %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{} ], unreduced={"x"}>]> ...
    ```

    Acts on distributed functions. The split of dimensions and the replicated
    axes of the result stay, closed and without axes if there was none; all
    results go to the mesh of the last constraint that mattered, and partial
    values are summed. Leaves alone: fragments in which nothing changes.
    Cost: linear in results.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments returning partials">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def PropagateUnreducedShardingsPass
    : Pass<"mpmd-propagate-unreduced-shardings", "::mlir::ModuleOp"> {
  let summary = "Propagates unreduced shardings between fragments";
  let description = [{
    A result of a fragment that is unreduced is so for all that read it, through
    fragments that return it as it is, and by transfers to meshes of equal axes.

    ```mlir
    %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{} ]>]> (%0) ...
    // with %0 being <@g, [{} ], unreduced={"x"}>, becomes
    %1 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{} ], unreduced={"x"}>]> (%0) ...
    ```

    Acts on MPMD functions that are entry points, after
    `mpmd-populate-unreduced-out-sharding`; also finds constraints in shared
    bodies. Reports a transfer of partial sums to a mesh of other axes whose
    fragments go on with partial sums. Cost: linear in operands and results.
  }];
  let statistics = [
    Statistic<"numValues", "num-values", "Operands and results given axes">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def RetargetShardingsPass
    : Pass<"mpmd-retarget-shardings", "::mlir::ModuleOp"> {
  let summary = "Rewrites shardings to the meshes of their values";
  let description = [{
    Users shard by the axes of some mesh, often the first one of the topology. If
    the meshes differ, each sharding is moved to the mesh of its value.

    ```mlir
    sdy.mesh @mesh = <["x"=2]>
    func.func @f(%0: !b {sdy.sharding = #sdy.sharding<@mesh, [{"x"} ]>}) ...
    // with "b" : <["x"=4]> in the topology, becomes
    sdy.mesh @b = <["x"=4]>
    sdy.mesh @mesh = <["x"=2]>
    func.func @f(%0: !b {sdy.sharding = #sdy.sharding<@b, [{"x"} ]>}) ...
    ```

    Acts on MPMD functions: on arguments, results, fragments with all that is in
    them, transfers and loops. Axes are found by name, or by position where names
    differ and sizes do not. A value that no axis of its mesh can split so is
    not split, with a warning; inside a fragment a sharding of a mesh with as
    many devices stays. The axes of manual computations are found by position;
    one on a mesh of other sizes is an error, as is a collective of axes that its
    mesh does not have. Does nothing if all meshes have the same axes and nothing
    names others. Cost: linear in ops.
  }];
  let options = [
    Option<"warn", "warn", "bool", /*default=*/"true",
           "Warn where an axis is dropped.">,
  ];
  let statistics = [
    Statistic<"numMoved", "num-moved", "Shardings moved to another mesh">,
  ];
  let dependentDialects = ["::mlir::sdy::SdyDialect"];
}

def SimplifyProgramPass
    : Pass<"mpmd-simplify-program", "::mlir::func::FuncOp"> {
  let summary = "Removes redundant operands and results of fragments";
  let description = [{
    Merges equal operands and equal results of fragments, replaces results that
    are operands of the same type, and removes operands and results that nothing
    needs.

    ```mlir
    %0:2 = fragment (%a, %a, %b) (%x, %y, %z) { %m = multiply %x, %y; return %m, %z }
    return %0#0, %0#1
    // becomes
    %0 = fragment (%a) (%x) { %m = multiply %x, %x; return %m }
    return %0, %b
    ```

    Acts on every function and on fragments only, also those in loops, until
    nothing changes. A fragment that nothing reads is erased if it has no side
    effects, and left unchanged otherwise. Rebuilt fragments keep all
    attributes; `arg_attrs` and `res_attrs` lose the entries of what is removed,
    but lists of shardings are not shortened, so there should be none.
  }];
  let options = [
    Option<"skipBodies", "skip-bodies", "bool", /*default=*/"false",
           "Do not fold or erase ops in bodies whose operands and results "
           "do not change.">,
  ];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Simplified or erased">,
    Statistic<"numErased", "num-erased", "Other operations folded or erased">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

#endif
