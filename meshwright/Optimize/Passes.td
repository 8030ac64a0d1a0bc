//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_OPTIMIZE_PASSES_TD
#define MESHWRIGHT_OPTIMIZE_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def AccumulateInUnitsPass
    : MpmdFunctionPass<"mpmd-accumulate-in-units"> {
  let summary = "Adds up gradients in the fragments that compute them";
  let description = [{
    A sum whose first terms are results of equal scheduling units, one per
    microbatch, is computed in these units: each adds its term to the sum of
    those before it.

    ```mlir
    %0 = fragment<"m", ["f"(1)]> (%x) {call_counter = 0} {g}
    %1 = fragment<"m", ["f"(1)]> (%y) {call_counter = 1} {g}
    %2 = fragment<"m", ["f"(1)]> (%0, %1, %z) {call_counter = 2} {(%0 + %1) + g}
    // becomes
    %0 = fragment<"m", ["f"(1)]> (%x) {call_counter = 0} {g}
    %1 = fragment<"m", ["f"(1)]> (%0, %y) {call_counter = 1} {%0 + g}
    %2 = fragment<"m", ["f"(1)]> (%1, %z) {call_counter = 2} {%1 + g}
    ```

    Only one gradient is then kept, not one for each microbatch. Terms keep
    their order, so that the sum is the same to the last bit. A sum with the
    result of a manual computation moves into that computation, where it can be
    part of the kernel of a product.

    Acts on MPMD functions, on fragments directly in their bodies, whose order is that of
    the schedule. Leaves alone what something else reads as well, and units that run in
    another order than they are added in, with a remark. Fragments of a sum keep unread
    operands. Cost: linear in the ops of fragments.
  }];
  let statistics = [
    Statistic<"numTerms", "num-terms",
              "Terms accumulated where they are computed">,
  ];
}

def MergeForwardWithBackwardPass
    : DistributedFunctionPass<"mpmd-merge-forward-with-backward"> {
  let summary = "Merges forward fragments with the backward ones that follow";
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

    Acts on the fragments that are directly in a distributed function. Where
    both have a stage it must be the same. The merged fragment is where the
    consumer was if it can, else where the producer was, and keeps of its
    discardable attributes only a `call_counter` on which both agree. Fragments
    that are pure and unused are erased.
  }];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Fragments merged into others">,
  ];
}

def RematFragmentPass : DistributedFunctionPass<"mpmd-remat-fragment"> {
  let summary = "Recomputes forward fragments before their backward fragments";
  let description = [{
    Clones a forward fragment in front of each backward fragment that reads it
    directly and has the same stage and call counter, unless that is the next
    fragment on the mesh anyway. The backward fragment then reads the clone.

    ```mlir
    %0 = fragment<"m", ["f"]> (%x) {call_counter = 4 : ui32}
    %1 = fragment<"m", ["g"]> (%y)
    %2 = fragment<"m", ["f"(1)]> (%0) {call_counter = 4 : ui32}
    // becomes
    %0 = fragment<"m", ["f"]> (%x) {call_counter = 4 : ui32}
    %1 = fragment<"m", ["g"]> (%y)
    %3 = fragment<"m", ["f"]> (%x) {call_counter = 4 : ui32, remat}
    %2 = fragment<"m", ["f"(1)]> (%3) {call_counter = 4 : ui32}
    // or, merged
    %2 = fragment<"m", ["f", "f"(1)]> (%x) {call_counter = 4 : ui32, remat}
    ```

    Acts on distributed functions, on the fragments directly in their bodies;
    requires nothing. Leaves alone: fragments without call counter, those with
    effects, with a remark, as these must not happen twice, and the original
    fragment, even if nothing reads it any more. A clone has all
    attributes of the original; of those of the backward fragment, merging keeps
    the call counter. A remark gives the bytes of results, by their global shape,
    that are no longer kept until the last backward fragment that read them.
    Cost: linear in fragments and their uses.
  }];
  let options = [
    Option<"mergeRematFragments", "merge-remat-fragments", "bool",
           /*default=*/"false",
           "Merge each clone with the backward fragment that reads it.">,
  ];
  let statistics = [
    Statistic<"numFragments", "num-fragments", "Fragments recomputed">,
    Statistic<"numBytes", "num-bytes", "Bytes no longer kept">,
  ];
}

def VerifyStageMergingPass
    : DistributedFunctionPass<"mpmd-verify-stage-merging"> {
  let summary = "Checks that each stage has one fragment per microbatch";
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

    A forward fragment that is recomputed for both halves of a backward fragment
    that was split clashes too; the error then says so.

    Acts on distributed functions; changes nothing. Requires that a fragment
    with a stage has one transpose count, for which the largest of its origins
    counts if it is rematerialized, and reports an error otherwise. Cost: one
    lookup per fragment.
  }];
}

#endif
