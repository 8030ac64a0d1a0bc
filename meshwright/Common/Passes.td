//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_COMMON_PASSES_TD
#define MESHWRIGHT_COMMON_PASSES_TD

include "mlir/Pass/PassBase.td"

def AbsorbInferredFragmentsPass
    : Pass<"mpmd-absorb-inferred-fragments", "::mlir::func::FuncOp"> {
  let summary = "Merges inferred fragments into the fragments around them";
  let description = [{
    Merges, to a fixed point, every inferred fragment that a root can take in. A
    root is a user fragment, or a fragment that no fragment reads, or one that
    reads no fragment. A root absorbs an inferred producer of which it is the
    first user, and an inferred consumer of which it is the last producer. For
    that, transfers of what the producer computes are delayed to their first
    user, and transfers that the consumer reads follow what they transfer.

    ```mlir
    %0 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !l) {
      %2 = stablehlo.negate %a : !l
      mpmd.return %2 : !l
    } : (!m) -> !m
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%a: !l) {
      %2 = stablehlo.abs %a : !l
      mpmd.return %2 : !l
    } : (!m) -> !m
    // becomes
    %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
      %1 = stablehlo.negate %a : !l
      %2 = stablehlo.abs %1 : !l
      mpmd.return %2 : !l
    } : (!m) -> !m
    ```

    Acts on the fragments that stand directly in an MPMD function, by default
    only in callees. Leaves alone: user fragments among each other, other
    meshes, fragments in loops. The merged fragment stands where the root stood
    and has its discardable attributes; an inferred one lists who inferred the
    root, then who inferred what it absorbed. Being a greedy rewrite, the pass
    also removes unused ops without effects and moves constants to the front.
  }];
  let options = [
    Option<"absorbOnEntryPointFunction", "absorb-on-entry-point-function",
           "bool", /*default=*/"false",
           "Act on entry points too, not only on callees.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def CallInlinePass : Pass<"mpmd-call-inline", "::mlir::ModuleOp"> {
  let summary = "Replaces calls by the bodies of their callees";
  let description = [{
    Replaces every `mpmd.call`, also in loops, by a copy of the callee's body.
    The fragments and fragment calls in the copy get the discardable attributes
    of the call, above all its `call_counter`, in place of their own of the same
    name; other ops get none.

    ```mlir
    %0 = mpmd.call @f(%x) {call_counter = 3 : ui32} : (!m) -> !m
    // with @f holding one fragment becomes
    %0 = mpmd.fragment<mesh="m", origin=["g"]> (%x) {call_counter = 3 : ui32} (%a: !l) {
      mpmd.return %a : !l
    } : (!m) -> !m
    ```

    Requires callees whose body is one block. Leaves alone: `func.call`,
    `mpmd.fragment_call`, and, by default, the callees, which `symbol-dce`
    removes. Locations become call sites. Fails if the copies would have more
    than `max-inlined-ops` operations. Cost: linear in the size of the result.
  }];
  let options = [
    Option<"eraseCallees", "erase-callees", "bool", /*default=*/"false",
           "Erase private callees that nothing refers to any more.">,
    Option<"markNestedLocs", "mark-nested-locations", "bool",
           /*default=*/"true",
           "Make call sites of the locations in fragments too, not only of "
           "those of the fragments.">,
    Option<"maxInlinedOps", "max-inlined-ops", "int64_t",
           /*default=*/"1 << 24",
           "Fail rather than copy more operations.">,
  ];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls inlined">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def CopyConstantsPass : Pass<"mpmd-copy-constants", "::mlir::func::FuncOp"> {
  let summary = "Copies constants into the fragments that read them";
  let description = [{
    Where a fragment reads, directly or through transfers, a constant that
    another fragment returns, copies the constant to the front of its body.

    ```mlir
    %0 = mpmd.fragment<mesh="m1", origin=[]> () () {
      %c = stablehlo.constant dense<1.5> : !l
      mpmd.return %c : !l
    } : () -> !m1
    %1 = mpmd.transfer %0 : (!m1) -> !m2
    %2 = mpmd.fragment<mesh="m2", origin=["f"]> (%1) (%a: !l) {
      %3 = stablehlo.abs %a : !l
      mpmd.return %3 : !l
    } : (!m2) -> !m2
    // becomes, in the last fragment
    %2 = mpmd.fragment<mesh="m2", origin=["f"]> (%1) (%a: !l) {
      %c = stablehlo.constant dense<1.5> : !l
      %3 = stablehlo.abs %c : !l
      mpmd.return %3 : !l
    } : (!m2) -> !m2
    ```

    Acts on the fragments that stand directly in a distributed function. Takes
    one step: a fragment that gets a constant from one that merely passes it on
    is left alone. Operands, results and attributes stay as they are, so
    `mpmd-fragment-dce` should follow.
  }];
  let statistics = [
    Statistic<"numConstants", "num-constants", "Constants copied">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def ErasePartitioningPass
    : Pass<"mpmd-erase-partitioning", "::mlir::ModuleOp"> {
  let summary = "Turns a partitioned program back into a plain one";
  let description = [{
    Removes everything that says where a program computes, at any stage of a
    compile. The result means the same and has no `mpmd` op or type left.

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
    such shardings, and these meshes. Leaves alone: modules without anything of
    the dialect, donation and aliasing, meshes that a manual computation names.

    Reports reductions and loop indices of types that StableHLO cannot compute
    with. Cost: linear.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

def EraseUnusedCalleeBlockArgumentsPass
    : Pass<"mpmd-erase-unused-callee-block-arguments", "::mlir::ModuleOp"> {
  let summary = "Takes values that a callee only hands on out of its calls";
  let description = [{
    Removes from private MPMD functions the arguments that have no use but in
    the return, with the results that return them, and adapts the calls. Uses of
    a removed result read what the call passed. A callee that is left without
    results and has no effects is erased with its calls.

    ```mlir
    %0:2 = mpmd.call @f(%x, %y) : (!l, !l) -> (!l, !l)
    func.func private @f(%a: !l, %b: !l) -> (!l, !l) attributes {topology = #t} {
      %1 = stablehlo.abs %b : !l
      return %a, %1 : !l, !l
    }
    // becomes, with uses of %0#0 redirected to %x
    %0 = mpmd.call @f(%y) : (!l) -> !l
    func.func private @f(%b: !l) -> !l attributes {topology = #t} {
      %1 = stablehlo.abs %b : !l
      return %1 : !l
    }
    ```

    Leaves alone: entry points, callees none of whose calls has a used result,
    and functions that anything but an `mpmd.call` refers to. Calls keep their
    attributes and locations. Goes over the functions once.
  }];
  let statistics = [
    Statistic<"numArguments", "num-arguments", "Arguments removed">,
    Statistic<"numResults", "num-results", "Results removed">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def FragmentDcePass : Pass<"mpmd-fragment-dce", "::mlir::func::FuncOp"> {
  let summary = "Removes unused results, operands and bodies of fragments";
  let description = [{
    Removes the unused results of each fragment, the ops in its body that then
    compute nothing, and the operands that it then does not read. Fragments that
    are left empty and unused transfers are erased.

    ```mlir
    %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %y) (%a: !l, %b: !l) {
      %1 = stablehlo.abs %a : !l
      %2 = stablehlo.sine %b : !l
      mpmd.return %1, %2 : !l, !l
    } : (!m, !m) -> (!m, !m)
    return %0#1 : !m
    // becomes
    %0 = mpmd.fragment<mesh="m", origin=["f"]> (%y) (%b: !l) {
      %1 = stablehlo.sine %b : !l
      mpmd.return %1 : !l
    } : (!m) -> !m
    return %0 : !m
    ```

    Acts on all fragments of a distributed function, also in loops. Leaves
    alone: ops with side effects, other ops outside fragments, and function
    arguments. Attributes and locations stay; lists per operand or result are
    not shortened. Cost: linear in the size of the function.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments erased">,
    Statistic<"numTransfers", "num-transfers", "Transfers erased">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def FragmentDedupPass : Pass<"mpmd-fragment-dedup", "::mlir::func::FuncOp"> {
  let summary = "Makes uses of repeated operands and results use the first";
  let description = [{
    Where a fragment reads a value several times, or returns one several times
    with the same type, redirects uses to the first occurrence.

    ```mlir
    %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %x) (%a: !l, %b: !l) {
      %1 = stablehlo.add %a, %b : !l
      mpmd.return %1, %1 : !l, !l
    } : (!m, !m) -> (!m, !m)
    return %0#0, %0#1 : !m, !m
    // becomes
    %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %x) (%a: !l, %b: !l) {
      %1 = stablehlo.add %a, %a : !l
      mpmd.return %1, %1 : !l, !l
    } : (!m, !m) -> (!m, !m)
    return %0#0, %0#0 : !m, !m
    ```

    Acts on all fragments of a distributed function, also in loops. Operands,
    results and attributes stay, so `mpmd-fragment-dce` should follow. Cost:
    linear in operands and results.
  }];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def FromUnrollToCallCounterPass
    : Pass<"mpmd-from-unroll-to-call-counter", "::mlir::func::FuncOp"> {
  let summary = "Turns the unroll counters of calls into call counters";
  let description = [{
    Renames `unroll_counter` on `mpmd.call`, in place of a `call_counter` that
    may be there.

    ```mlir
    %0 = mpmd.call @f(%x) {unroll_counter = 4 : ui32} : (!l) -> !l
    // becomes
    %0 = mpmd.call @f(%x) {call_counter = 4 : ui32} : (!l) -> !l
    ```

    Acts on distributed functions, also in loops. Leaves other ops alone.
  }];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Calls renumbered">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MergeForwardWithBackwardPass
    : Pass<"mpmd-merge-forward-with-backward", "::mlir::func::FuncOp"> {
  let summary = "Merges forward fragments with the backward ones behind them";
  let description = [{
    Merges a forward fragment (transpose count 0) with a backward one (count 1)
    if that is its first consumer and the next fragment on its mesh.

    ```mlir
    %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
      %2 = stablehlo.exponential %a : !l
      mpmd.return %2 : !l
    } : (!m) -> !m
    %1 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%0) (%a: !l) {
      %2 = stablehlo.log %a : !l
      mpmd.return %2 : !l
    } : (!m) -> !m
    // becomes
    %0 = mpmd.fragment<mesh="m", origin=["f", "f"(1)]> (%x) (%a: !l) {
      %1 = stablehlo.exponential %a : !l
      %2 = stablehlo.log %1 : !l
      mpmd.return %2 : !l
    } : (!m) -> !m
    ```

    Acts on the fragments that stand directly in a distributed function. Where
    both have a stage it must be the same. The merged fragment stands where the
    consumer stood if it can, else where the producer stood, and keeps of its
    discardable attributes only a `call_counter` on which both agree. Fragments
    that are pure and unused are erased.
  }];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MergeInferredFragmentsPass
    : Pass<"mpmd-merge-inferred-fragments", "::mlir::func::FuncOp"> {
  let summary = "Merges inferred fragments with their neighbours";
  let description = [{
    Merges a fragment with its first consumer if at least one of the two is
    inferred. Options choose other partners.

    ```mlir
    %0 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !l) {
      %2 = stablehlo.negate %a : !l
      mpmd.return %2 : !l
    } : (!m) -> !m
    %1 = mpmd.fragment<mesh="m", origin=["f"], stage=1> (%0, %y) (%a: !l, %b: !l) {
      %2 = stablehlo.add %a, %b : !l
      mpmd.return %2 : !l
    } : (!m, !m) -> !m
    // becomes
    %0 = mpmd.fragment<mesh="m", origin=["f"], stage=1> (%x, %y) (%a: !l, %b: !l) {
      %1 = stablehlo.negate %a : !l
      %2 = stablehlo.add %1, %b : !l
      mpmd.return %2 : !l
    } : (!m, !m) -> !m
    ```

    Acts on the fragments that stand directly in a distributed function, from
    the last to the first. Leaves alone: pairs of user fragments, the two halves
    of a split fragment, pairs with something in between that depends on one and
    feeds the other. The merged fragment stands where the second one stood if it
    can, else where the first one stood. Of discardable attributes it keeps
    `call_counter` (the user fragment's where two differ) and, if both fragments
    are inferred, the union of `mpmd.inferred_by`. Fragments that are pure and
    unused are erased; nothing else is cleaned up. A call counter that is no
    `ui32` is an error.
  }];
  let options = [
    Option<"cloneInferredFragments", "clone-inferred-fragments", "bool",
           /*default=*/"false",
           "Before merging, give each of several fragments that read a pure "
           "inferred one a copy of its own.">,
    Option<"mergeAnyConsumer", "merge-any-consumer", "bool",
           /*default=*/"false",
           "Merge with the first consumer that may be merged, even if another "
           "one comes before it.">,
    Option<"mergeSideways", "merge-sideways", "bool", /*default=*/"false",
           "Merge with the next fragment of the mesh, even if it is no "
           "consumer. Excludes merge-any-consumer.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MergeTransfersPass
    : Pass<"mpmd-merge-transfers", "::mlir::func::FuncOp"> {
  let summary = "Sends several scalars from one fragment to another as one tensor";
  let description = [{
    Where two or more results of a fragment, of one type with at most one
    element, reach another fragment through transfers, the first fragment also
    returns their concatenation, and the second one takes its values out of
    that.

    ```mlir
    %p:2 = fragment<"m1"> (%x) { mpmd.return %a, %b }
    %t0 = mpmd.transfer %p#0 : (!m1) -> !m2
    %t1 = mpmd.transfer %p#1 : (!m1) -> !m2
    %c = fragment<"m2"> (%t0, %t1) (%u, %v) { use %u, %v }
    // becomes
    %p:3 = fragment<"m1"> (%x) { mpmd.return %a, %b, concatenate(%a, %b) }
    %t = mpmd.transfer {concat_transfer} %p#2 : (!m1_2) -> !m2_2
    %t0 = mpmd.transfer %p#0 : (!m1) -> !m2
    %t1 = mpmd.transfer %p#1 : (!m1) -> !m2
    %c = fragment<"m2"> (%t0, %t1, %t) (%u, %v, %w) { use %w[0], %w[1] }
    ```

    Acts on MPMD functions; to be run once. Results that are sharded or in host
    memory do not take part. One concatenation is made per consumer. The old
    transfers, results and operands stay, though nothing may use them any more:
    run fragment deduplication and dead code elimination afterwards. Fragments
    keep all their attributes and locations. Cost: linear in the results of the
    fragments and their uses.
  }];
  let statistics = [
    Statistic<"numTransfers", "num-transfers", "Transfers merged">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect",
                           "::mlir::stablehlo::StablehloDialect"];
}

def MergeUserFragmentsIntoSchedulingUnitsPass
    : Pass<"mpmd-merge-user-fragments-into-scheduling-units",
           "::mlir::func::FuncOp"> {
  let summary = "Merges user fragments that one step of a schedule covers";
  let description = [{
    Merges a user fragment with its closest consumer if that is a user fragment
    of the same transpose count, and call counters and stages do not differ
    (one that is absent never does). A merged fragment goes on being merged.

    ```mlir
    %0 = fragment<"m", ["f"(1)], stage=3> (%x)
    %1 = fragment<"m", ["g"(1)]> (%0) {call_counter = 5 : ui32}
    // becomes
    %0 = fragment<"m", ["f"(1), "g"(1)], stage=3> (%x) {call_counter = 5 : ui32}
    ```

    Acts on distributed functions; requires that the origins of a user fragment
    have one transpose count, and reports fragments of which this is not true.
    The merged fragment stands where the consumer stood, or, if something before
    the consumer reads it, where the producer stood, provided that what the
    consumer reads is available there. Other pairs stay apart, so transfers
    should stand behind their producers. Of discardable attributes only the call
    counter survives; locations are fused. Unused fragments without effects are
    erased. Cost: linear in fragments, their operands and uses.
  }];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def MoveTransfersToProducerPass
    : Pass<"mpmd-move-transfers-to-producer", "::mlir::func::FuncOp"> {
  let summary = "Moves transfers directly behind what they read";
  let description = [{
    Moves each transfer, in program order, behind the op that defines its
    operand, or to the start of the block if that is a block argument. Transfers
    of one value end up in reverse order.

    ```mlir
    %0 = fragment A
    %1 = fragment B
    %2 = mpmd.transfer %0
    // becomes
    %0 = fragment A
    %2 = mpmd.transfer %0
    %1 = fragment B
    ```

    Acts on distributed functions; requires nothing and changes nothing but the
    order. Cost: linear in the number of ops.
  }];
  let statistics = [
    Statistic<"numTransfers", "num-transfers", "Transfers moved">,
  ];
}

def RemoveTransferCyclesPass
    : Pass<"mpmd-remove-transfer-cycles", "::mlir::func::FuncOp"> {
  let summary = "Replaces values that come back to a mesh by the original";
  let description = [{
    Replaces a transfer by the nearest value up its chain of transfers that has
    the same type: mesh, tensor, sharding and memory kind.

    ```mlir
    %1 = mpmd.transfer %0 : (!m1) -> !m2
    %2 = mpmd.transfer %1 : (!m2) -> !m1
    use %2
    // becomes
    %1 = mpmd.transfer %0 : (!m1) -> !m2
    use %0
    ```

    Acts on distributed functions; requires nothing. Leaves alone: transfers
    that lead away, even when nothing reads them any more, and values that have
    been in host memory on the way. A type without memory kind and one with
    `device` are different. Cost: linear in the transfers times the number of
    types in a chain.
  }];
  let statistics = [
    Statistic<"numTransfers", "num-transfers", "Transfers removed">,
  ];
}

def RuleBasedMergePass
    : Pass<"mpmd-rule-based-merge", "::mlir::func::FuncOp"> {
  let summary = "Merges the fragments that the given rules name";
  let description = [{
    For each rule and mesh, merges all fragments directly in the function that
    match any source of the rule, if there are two or more, and describes the
    result by the target of the rule. With the rule

    ```
    FragmentMergeRule(sources=[FragmentInfo(origins=["f"],mesh_name="m"),
                               FragmentInfo(origins=["g"],mesh_name="m")],
                      target=FragmentInfo(origins=["f","g"],mesh_name="m"))
    ```

    (to be written without white space)

    ```mlir
    %0 = fragment<"m", ["f"]> (%x)
    %1 = fragment<"m", ["g"]> (%y)
    // becomes
    %0:2 = fragment<"m", ["f", "g"]> (%x, %y)
    ```

    A fragment matches a source if sorted origins, stage, call counter, split
    type and mesh are all equal; what the source does not mention must be
    absent. The merged fragment can match again. It stands where the first of
    the merged fragments stood, as far as dependencies allow: the block is
    sorted topologically, and stably, at the end. Fragments are concatenated in
    the order of their dependencies, then in program order. Effects on one mesh
    keep their order.

    Acts on MPMD functions. Requires that each source occurs once over all rules
    and that no two stages meet in one merge, and reports an error otherwise, as
    it does where merging makes a cycle of dependencies or would let effects
    happen before or after those of another fragment between them. Of discardable
    attributes only those in the target survive; locations are fused. Ops that
    are trivially dead are erased. Cost: linear in the number of ops, but for
    sorting, and quadratic in how many fragments one merge takes.
  }];
  let options = [
    ListOption<"rules", "rules", "::mlir::mpmd::FragmentMergeRule",
               "Rules FragmentMergeRule(sources=[...],target=...), separated by "
               "commas.">,
    Option<"removeControlDependencies", "remove-control-dependencies", "bool",
           /*default=*/"true",
           "Remove the control dependencies that scheduling has added.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def SchedulingUnitsVerifierPass
    : Pass<"mpmd-scheduling-units-verifier", "::mlir::func::FuncOp"> {
  let summary = "Warns of meshes without one scheduling unit per microbatch";
  let description = [{
    The number of microbatches is the largest call counter of a fragment, or one
    more if counting starts at 0. Each mesh of the topology, unless its name
    ends in `/cpu`, should have that many forward and that many backward
    scheduling units: user fragments with a call counter whose origins all have
    transpose count 0 or 1, respectively. A warning says where this is not so.

    ```
    warning: number of backward scheduling units on mesh "m1" differs from the
    number of microbatches: expected 4, found 3
    ```

    Acts on MPMD functions; changes nothing and never fails. Cost: linear in the
    number of ops.
  }];
}

def SinkNegligibleOpsIntoCallOpPass
    : Pass<"mpmd-sink-negligible-ops-into-call-op", "::mlir::ModuleOp"> {
  let summary = "Moves constants that all calls pass into the callee";
  let description = [{
    If all calls of an MPMD function pass the same value for an argument, and an
    op without operands, with one result and without effects defines it, the op
    is cloned into the function and the argument goes.

    ```mlir
    %k = stablehlo.constant dense<2.0> : tensor<f32>
    %0 = mpmd.call @f(%x, %k) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    func.func private @f(%p: tensor<f32>, %q: tensor<f32>) -> tensor<f32> { use %q }
    // becomes
    %0 = mpmd.call @f(%x) : (tensor<f32>) -> tensor<f32>
    func.func private @f(%p: tensor<f32>) -> tensor<f32> {
      %k = stablehlo.constant dense<2.0> : tensor<f32>
      use %k
    }
    ```

    DEPARTURE: What draws random numbers or acts on the world stays where it is,
    although the reference sinks it: it would happen once per call and in the
    caller.

    Acts on the MPMD functions of a module, in order. Calls without a used
    result have no say, unless they have effects, and keep their operands, unless
    these would no longer fit the callee. Dead code is removed from callers of which a call has changed.
    Leaves alone: ops with other uses. Clones keep attributes and locations.
    Cost: linear in the calls and their operands, plus one clean-up of the
    callers per callee that has changed.
  }];
  let statistics = [
    Statistic<"numArguments", "num-arguments", "Arguments replaced by clones">,
  ];
}

def SplitAndPrioritizeTransferIndependentComputationsPass
    : Pass<"mpmd-split-and-prioritize-transfer-independent-computations",
           "::mlir::func::FuncOp"> {
  let summary = "Splits off what fragments can compute before data arrives";
  let description = [{
    Splits a fragment that reads both results of transfers and other values into
    an early half, which depends on no transfer, and a late half.

    ```mlir
    %r = fragment (%x, %t) (%u, %v) { %d = f(%u); mpmd.return g(%d, %v) }
    // becomes, when dead operands and results are removed,
    %d = fragment (%x) (%u) { mpmd.return f(%u) } {split_keep_transferred}
    %r = fragment (%t, %d) (%v, %e) { mpmd.return g(%e, %v) } {split_drop_transferred}
    ```

    Acts on every function; requires that shardings are not yet propagated, and
    reports an error where they are. Leaves alone: fragments all or none of
    whose operands come from transfers, those that are halves already, and those
    that would be wholly early or wholly late. Both halves have the operands,
    the attributes and the location of the original, plus the mark of their
    side. Cost: linear in the number of ops.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments split">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def SplitBwdFragmentsPass
    : Pass<"mpmd-split-bwd-fragments", "::mlir::func::FuncOp"> {
  let summary = "Splits off what backward fragments send to other meshes";
  let description = [{
    Splits a fragment of transpose count 1, some but not all of whose results
    are transferred, into an early half, which computes these, and a late half.

    ```mlir
    %f:2 = fragment<["l"(1)]> (%x, %y) (%u, %v) {
      %d = tanh(%u)
      mpmd.return multiply(%d, %v), %d
    }
    %t = mpmd.transfer %f#1
    // becomes, when dead operands and results are removed,
    %k = fragment<["l"(1)]> (%x) (%u) { mpmd.return tanh(%u) } {split_keep_transferred}
    %l = fragment<["l"(1)]> (%y, %k) (%v, %d) { mpmd.return multiply(%d, %v) } {split_drop_transferred}
    %t = mpmd.transfer %k
    ```

    Acts on every function; requires that shardings are not yet propagated, and
    reports an error where they are. Transfers do not move. Both halves have the
    operands, the attributes and the location of the original, plus the mark of
    their side. Leaves alone: fragments that are halves already, and those that
    would be wholly early. Cost: linear in the number of ops.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments split">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def UniquifyFunctionInputsOutputsPass
    : Pass<"mpmd-uniquify-function-inputs-outputs", "::mlir::func::FuncOp"> {
  let summary = "Gives each result of a function a value of its own";
  let description = [{
    Copies values that a function returns more than once, and arguments that it
    returns, so that each result is a buffer of its own.

    ```mlir
    func.func @f(%x: !m) -> (!m, !m, !m) {
      %0 = fragment A
      return %0, %x, %0
    // becomes
      %1:3 = fragment<"m", []> (%0, %x) {mpmd.inferred_by = ["uniquify"]} (%p, %q) {
        mpmd.return %p, %p, %q
      }
      return %1#0, %1#2, %1#1
    // or, with transfers instead of fragments,
      %1 = mpmd.transfer %x : (!m) -> !m
      %2 = mpmd.transfer %0 : (!m) -> !m
      return %0, %1, %2
    ```

    Acts on MPMD functions; requires that the values to copy are mesh tensors,
    and reports an error otherwise. There is one fragment per mesh, in the order
    of the returned values. Types are kept. Canonicalization and fragment
    deduplication would undo this. Cost: linear in the number of results.
  }];
  let options = [
    Option<"useTransferInsteadOfFragment", "use-transfer-instead-of-fragment",
           "bool", /*default=*/"false",
           "Copy by transfers, one per returned position, not by fragments.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def UnrollForLoopsPass
    : Pass<"mpmd-unroll-for-loops", "::mlir::func::FuncOp"> {
  let summary = "Replaces loops by one copy of their body per iteration";
  let description = [{
    Replaces each `mpmd.for` by copies of its body. Each op directly in a copy
    says in `unroll_counter` which iteration it belongs to, counted over all
    loops of the function; the loop index becomes a constant, counted from 0 in
    each loop.

    ```mlir
    %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%s, %index) {
      mpmd.return multiply(%s, %index)
    }
    // becomes
    %c = stablehlo.constant {unroll_counter = 0 : ui32} dense<0> : tensor<ui32>
    %0 = stablehlo.multiply %x, %c {unroll_counter = 0 : ui32}
    %c_0 = stablehlo.constant {unroll_counter = 1 : ui32} dense<1> : tensor<ui32>
    %1 = stablehlo.multiply %0, %c_0 {unroll_counter = 1 : ui32}
    ```

    Acts on distributed functions. Requires that loops are not nested and that
    `unroll_factor` is the number of iterations, and reports an error otherwise.
    Attributes of the loop are dropped, those of the body kept. Unused copies
    stay. Cost: linear in the number of ops that are made.
  }];
  let statistics = [
    Statistic<"numLoops", "num-loops", "Loops unrolled">,
  ];
  let dependentDialects = ["::mlir::stablehlo::StablehloDialect"];
}

def VerifyStageMergingPass
    : Pass<"mpmd-verify-stage-merging", "::mlir::func::FuncOp"> {
  let summary = "Checks that one fragment is left per stage and microbatch";
  let description = [{
    Reports fragments with a stage that have mesh, stage, transpose count, split
    type and rematerialization in common with an earlier fragment, and the call
    counter too, unless one of them has none.

    ```
    error: fragments with a stage must be unique in mesh, stage, transpose count,
    call counter, split type and remat; an earlier fragment clashes with
    [mesh=m1, stage_id=0, transpose_count=0, call_count=-1, split_type=nullopt,
    is_remat=0] of [#mpmd.user_origin<"f">]
    ```

    Acts on distributed functions; changes nothing. Requires that a fragment
    with a stage has one transpose count, for which the largest of its origins
    counts if it is rematerialized, and reports an error otherwise. Cost: one
    lookup per fragment.
  }];
}

#endif
