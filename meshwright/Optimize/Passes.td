//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_OPTIMIZE_PASSES_TD
#define MESHWRIGHT_OPTIMIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PipelineSchedulerPass
    : Pass<"mpmd-pipeline-scheduler", "::mlir::func::FuncOp"> {
  let summary = "Orders the fragments of each mesh by a schedule";
  let description = [{
    Puts the scheduling units of each mesh, which are user fragments with a call
    counter that are forward or backward, in the order that a schedule demands.

    ```mlir
    %0 = fragment<"m", ["f"]> (%x) {call_counter = 0 : ui32}
    %1 = fragment<"m", ["f"(1)]> (%0) {call_counter = 0 : ui32}
    %2 = fragment<"m", ["f"]> (%y) {call_counter = 1 : ui32}
    // with GPipe becomes %0, %2, %1
    ```

    Acts on MPMD functions. Data flow always wins over the schedule, and of two
    demands that contradict each other the one of the earlier fragment. Then the
    block is sorted topologically, and stably; other ops move only as far as
    that takes them along. Leaves operations, operands, attributes and locations
    as they are. The index of a mesh counts the meshes of the topology whose name
    does not end in `/cpu`.

    A schedule that is a plan, as are those with several stages on each mesh and
    all from files, requires that the program has its stages on its meshes. It
    reports an error otherwise, and a warning where data flow contradicts it.
    The zero-bubble relations leave weight gradients without a neighbour where
    the program has them; with the option, they too go where the plan has them, if
    the program is the pipeline that the plan is of.
    Cost: linear in the ops but for one sort; where something contradicts, or if
    control dependencies are kept, for each unit linear in the ops.
  }];
  let options = [
    Option<"mustHappenBefore", "must-happen-before",
           "::mlir::mpmd::ScheduleOption",
           /*default=*/"::mlir::mpmd::getDefaultSchedule()",
           "The schedule: its name, with or without `builtin:` before it, or "
           "`file:` and the path of a CSV file.">,
    Option<"removeDependencies", "remove-control-dependencies", "bool",
           /*default=*/"true",
           "Remove the control dependencies that express the schedule.">,
    Option<"completeByPlan", "complete-by-plan", "bool", /*default=*/"false",
           "Where a zero-bubble relation leaves pairs open, order them as its "
           "plan does.">,
    Option<"onlyRestore", "only-restore", "bool", /*default=*/"false",
           "The program was scheduled, then fragments were merged: order it "
           "again, without a word, if that is possible to the letter.">,
    Option<"reportMisfits", "report-misfits", "bool", /*default=*/"false",
           "Warn if data flow contradicts the schedule, or if nothing is split "
           "that it could fill bubbles with. For plans this is always on.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def RematFragmentPass : Pass<"mpmd-remat-fragment", "::mlir::func::FuncOp"> {
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
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

def RuleBasedSchedulePass
    : Pass<"mpmd-rule-based-schedule", "::mlir::func::FuncOp"> {
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
           "Remove the control dependencies that express the rules.">,
    Option<"reportMisfits", "report-misfits", "bool", /*default=*/"false",
           "Warn about descriptions that no fragment fits, and about rules "
           "that data flow or earlier rules contradict.">,
  ];
  let dependentDialects = ["::mlir::mpmd::MpmdDialect"];
}

#endif
