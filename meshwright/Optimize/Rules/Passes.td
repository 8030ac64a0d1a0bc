//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_OPTIMIZE_RULES_PASSES_TD
#define MESHWRIGHT_OPTIMIZE_RULES_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def RuleBasedMergePass : MpmdFunctionPass<"mpmd-rule-based-merge"> {
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
    absent. The merged fragment can match again. It is where the first of
    the merged fragments was, as far as dependencies allow: the block is
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
           "Remove the order that scheduling has kept in attributes.">,
  ];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Fragments merged into others">,
  ];
}

def RuleBasedSchedulePass : MpmdFunctionPass<"mpmd-rule-based-schedule"> {
  let summary = "Orders fragments by the given rules";
  let description = [{
    Makes the fragments that a rule lists run in the order of the list. With the
    rule (to be written without white space)

    ```
    FragmentScheduleRule(ordered_fragments=[
      FragmentInfo(origins=["g"],mesh_name="m")->
      FragmentInfo(origins=["f"],mesh_name="m")])
    ```

    ```mlir
    %0 = fragment<"m", ["f"]> (%x)
    %1 = fragment<"m", ["g"]> (%y)
    // becomes %1, %0
    ```

    Acts on MPMD functions. Requires that all user fragments have distinct
    descriptions, and reports an error otherwise. A description that no fragment
    fits is passed over; fragments of different meshes, and pairs that data flow
    or an earlier rule orders the other way, stay as they are. The block is
    sorted topologically, and stably, at the end. Cost: linear in the ops for
    each pair of neighbours in a rule.
  }];
  let options = [
    ListOption<"rules", "rules", "::mlir::mpmd::FragmentScheduleRule",
               "Rules FragmentScheduleRule(ordered_fragments=[...->...]), "
               "separated by commas.">,
    Option<"removeDependencies", "remove-control-dependencies", "bool",
           /*default=*/"true",
           "Record the order in the block only, not in attributes for "
           "mpmd-rule-based-merge as well.">,
    Option<"reportUnmet", "report-unmet", "bool", /*default=*/"false",
           "Warn about descriptions that no fragment fits, and about rules "
           "that data flow or earlier rules contradict.">,
  ];
  let statistics = [
    Statistic<"numOrdered", "num-ordered", "Pairs of fragments put in order">,
    Statistic<"numConflicts", "num-conflicts", "Pairs that data flow orders otherwise">,
  ];
}

#endif
