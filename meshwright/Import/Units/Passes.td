//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_IMPORT_UNITS_PASSES_TD
#define MESHWRIGHT_IMPORT_UNITS_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def MergeUserFragmentsIntoSchedulingUnitsPass
    : DistributedFunctionPass<"mpmd-merge-user-fragments-into-scheduling-units"> {
  let summary = "Merges the user fragments of one scheduling unit";
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
    The merged fragment is where the consumer was, or, if something before
    the consumer reads it, where the producer was, provided that what the
    consumer reads is available there. Other pairs stay apart, so transfers
    should be after their producers. Of discardable attributes only the call
    counter survives; locations are fused. Unused fragments without effects are
    erased. Cost: linear in fragments, their operands and uses.
  }];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Fragments merged into others">,
  ];
}

def MoveTransfersToProducerPass
    : DistributedFunctionPass<"mpmd-move-transfers-to-producer"> {
  let summary = "Moves transfers directly after what they read";
  let description = [{
    Moves each transfer, in program order, after the op that defines its
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
    : DistributedFunctionPass<"mpmd-remove-transfer-cycles"> {
  let summary = "Replaces values transferred back to a mesh by the original";
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

    Acts on distributed functions; requires nothing. Leaves alone: transfers to
    other meshes, even when nothing reads them any more, and values that have
    been in host memory on the way. A type without memory kind and one with
    `device` are different. Cost: linear in the transfers times the number of
    types in a chain.
  }];
  let statistics = [
    Statistic<"numTransfers", "num-transfers", "Transfers removed">,
  ];
}

def SchedulingUnitsVerifierPass
    : MpmdFunctionPass<"mpmd-scheduling-units-verifier"> {
  let summary = "Warns about meshes without one scheduling unit per microbatch";
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

#endif
