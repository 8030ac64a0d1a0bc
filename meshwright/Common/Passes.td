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
    `mpmd.fragment_call`, and the callees, which `symbol-dce` removes. Locations
    become call sites. Cost: linear in the size of the result.
  }];
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

def EraseUnusedCalleeBlockArgumentsPass
    : Pass<"mpmd-erase-unused-callee-block-arguments", "::mlir::ModuleOp"> {
  let summary = "Takes values that a callee only hands on out of its calls";
  let description = [{
    Removes from private MPMD functions the arguments that have no use but in
    the return, with the results that return them, and adapts the calls. Uses of
    a removed result read what the call passed. A callee that is left without
    results is erased with its calls.

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
    unused are erased; nothing else is cleaned up.
  }];
  let options = [
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

#endif
