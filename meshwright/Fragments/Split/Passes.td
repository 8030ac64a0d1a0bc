//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_FRAGMENTS_SPLIT_PASSES_TD
#define MESHWRIGHT_FRAGMENTS_SPLIT_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitAndPrioritizeTransferIndependentComputationsPass
    : Pass<"mpmd-split-and-prioritize-transfer-independent-computations",
           "::mlir::func::FuncOp"> {
  let summary = "Splits off the parts of fragments that need no transfer";
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
    that would be wholly late, or wholly early in a block as long as theirs.
    Both halves have the operands, the attributes and the location of the
    original, plus the mark of their side; an entry of `res_attrs` goes with its
    result. Cost: linear in the number of ops.
  }];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments split">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def SplitBwdFragmentsPass
    : Pass<"mpmd-split-bwd-fragments", "::mlir::func::FuncOp"> {
  let summary = "Splits off the part of backward fragments whose results are sent";
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
    their side; an entry of `res_attrs` goes with its result. A transferred
    result that reads an earlier late half, as a sum over microbatches does, is
    late as well, unless all transferred results do. In a fragment that
    transfers all of its results, only such a result is late, provided that a
    microbatch of another mesh reads the others but not it. Leaves alone:
    fragments that are halves already, and those that would be wholly early in a
    block as long as theirs. With `manual-computations`, a manual computation in
    the body that has early and late results is split as well if its late part
    contains products; local values that cross the cut become a tensor that is
    sharded along its first dimension. Cost: linear in the number of ops.
  }];
  let options = [
    Option<"manualComputations", "manual-computations", "bool",
           /*default=*/"false", "Also split manual computations.">,
  ];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments split">,
    Statistic<"numManual", "num-manual", "Manual computations split">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

#endif
