//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_FRAGMENTS_SIMPLIFY_PASSES_TD
#define MESHWRIGHT_FRAGMENTS_SIMPLIFY_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def FragmentDcePass : DistributedFunctionPass<"mpmd-fragment-dce"> {
  let summary = "Removes unused results, operands and bodies of fragments";
  let description = [{
    Removes the unused results of each fragment, the ops in its body that are
    then dead, and the operands that are then unread. Erases fragments that end
    up empty, and unused transfers.

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
    arguments. Attributes and locations stay; `arg_attrs` and `res_attrs` lose
    the entries of what is removed, lists of shardings are not shortened. Cost:
    linear in the size of the function.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments erased">,
    Statistic<"numTransfers", "num-transfers", "Transfers erased">,
  ];
}

def FragmentDedupPass : DistributedFunctionPass<"mpmd-fragment-dedup"> {
  let summary = "Replaces duplicate operands and results by the first";
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
  let statistics = [
    Statistic<"numValues", "num-values", "Operands and results no longer read">,
  ];
}

def UniquifyFunctionInputsOutputsPass
    : MpmdFunctionPass<"mpmd-uniquify-function-inputs-outputs"> {
  let summary = "Copies values so that function results are distinct";
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
  let statistics = [
    Statistic<"numCopies", "num-copies", "Results copied">,
  ];
}

#endif
