//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_FRAGMENTS_MERGE_PASSES_TD
#define MESHWRIGHT_FRAGMENTS_MERGE_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def AbsorbInferredFragmentsPass
    : MpmdFunctionPass<"mpmd-absorb-inferred-fragments"> {
  let summary = "Merges inferred fragments into the fragments around them";
  let description = [{
    Merges, to a fixed point, every inferred fragment that a root can absorb. A
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

    Acts on the fragments in the first block of an MPMD function, by default
    only of callees. Leaves alone: user fragments among each other, other
    meshes, fragments in loops. The merged fragment is where the root was
    and has its discardable attributes, except that operands and results keep
    their own entries of `arg_attrs` and `res_attrs`; an inferred one lists the
    passes that inferred the root, then those of what it absorbed. Being a greedy
    rewrite, the pass also removes unused ops without effects and moves
    constants to the front.
  }];
  let options = [
    Option<"absorbOnEntryPointFunction", "absorb-on-entry-point-function",
           "bool", /*default=*/"false",
           "Act on entry points too, not only on callees.">,
  ];
  let statistics = [
    Statistic<"numAbsorbed", "num-absorbed", "Fragments absorbed">,
    Statistic<"numMoved", "num-moved", "Transfers moved out of the way">,
  ];
}

def MergeInferredFragmentsPass
    : DistributedFunctionPass<"mpmd-merge-inferred-fragments"> {
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

    Acts on the fragments in the first block of a distributed function, from
    the last to the first. Leaves alone: pairs of user fragments, the two halves
    of a split fragment, pairs with something in between that depends on one and
    feeds the other. The merged fragment is where the second one was if it
    can, else where the first one was. Of discardable attributes it keeps
    `call_counter` (the user fragment's where two differ) and, if both fragments
    are inferred, the union of `mpmd.inferred_by`. Fragments that are pure and
    unused are erased; nothing else is cleaned up. A call counter that is no
    `ui32` is an error, and so are clones of more than `max-cloned-ops`
    operations.
  }];
  let options = [
    Option<"cloneInferredFragments", "clone-inferred-fragments", "bool",
           /*default=*/"false",
           "Before merging, clone each pure inferred fragment for each of "
           "its readers.">,
    Option<"keepForwardApart", "keep-forward-apart", "bool", /*default=*/"false",
           "Do not merge a forward scheduling unit with a fragment that "
           "reads a backward unit of its mesh.">,
    Option<"keepUnitsAlike", "keep-units-alike", "bool", /*default=*/"false",
           "Do not merge what is computed once, before the first or after "
           "the last microbatch, into scheduling units that differ only in "
           "their call counter.">,
    Option<"maxClonedOps", "max-cloned-ops", "int64_t", /*default=*/"1 << 19",
           "Maximum number of operations to clone; exceeding it is an error.">,
    Option<"mergeAnyConsumer", "merge-any-consumer", "bool",
           /*default=*/"false",
           "Merge with the first consumer that may be merged, even if another "
           "one comes before it.">,
    Option<"mergeSideways", "merge-sideways", "bool", /*default=*/"false",
           "Merge with the next fragment of the mesh, even if it is no "
           "consumer. Excludes merge-any-consumer.">,
  ];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Fragments merged into others">,
  ];
}

#endif
