//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_PASSES_TD
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_PASSES_TD

include "meshwright/Dialect/Mpmd/Pass/FunctionPass.td"

def PipelineSchedulerPass : MpmdFunctionPass<"mpmd-pipeline-scheduler"> {
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

    Schedule `auto` makes its plan for the work of the fragments: floating point
    operations, or, with a device or a profile, seconds. For these a copy of the
    function is sharded, as the shard phase will do it.
    Cost: linear in the ops but for one sort; where something contradicts, or if
    control dependencies are kept, for each unit linear in the ops.
  }];
  let options = [
    Option<"mustHappenBefore", "must-happen-before",
           "::mlir::mpmd::ScheduleOption",
           /*default=*/"::mlir::mpmd::getDefaultSchedule()",
           "The schedule: its name, with or without `builtin:` before it, or "
           "`file:` and the path of a CSV file.">,
    Option<"device", "device", "::meshwright::TextOption", /*default=*/"",
           "For schedule auto: its times are seconds on this device, the name "
           "of one or a file, instead of floating point work.">,
    Option<"othersUseDevice", "others-use-device", "bool", /*default=*/"false",
           "Do not warn of a device that the schedule makes no use of.">,
    Option<"profile", "profile", "::meshwright::TextOption", /*default=*/"",
           "For schedule auto: a file of recorded times, which go before those "
           "of the device.">,
    Option<"customCosts", "custom-costs", "::meshwright::TextOption",
           /*default=*/"",
           "For schedule auto: what custom calls do, separated by semicolons.">,
    Option<"memory", "memory", "::meshwright::TextOption", /*default=*/"",
           "For schedule auto: stages of microbatches that a mesh may keep, a "
           "number or one for each mesh, separated by commas.">,
    Option<"removeDependencies", "remove-control-dependencies", "bool",
           /*default=*/"true",
           "Keep nothing of the schedule but the order of the block. "
           "Otherwise attributes tell mpmd-rule-based-merge.">,
    Option<"addScheduleDependencies", "add-schedule-dependencies", "bool",
           /*default=*/"false",
           "Where a zero-bubble relation leaves pairs open, order them as its "
           "plan does.">,
    Option<"onlyRestore", "only-restore", "bool", /*default=*/"false",
           "The program was scheduled, then fragments were merged: order it "
           "again if that is possible exactly, and say nothing otherwise.">,
    Option<"reportUnmet", "report-unmet", "bool", /*default=*/"false",
           "Warn if data flow contradicts the schedule, or if nothing is split "
           "that it could fill bubbles with. For plans this is always on.">,
    Option<"microbatchPasses", "microbatch-passes", "::meshwright::TextOption",
           /*default=*/"",
           "First and last call counters of each pass over the microbatches, as in "
           "0-7,8-15. That a later pass waits for an earlier one is no "
           "contradiction.">,
  ];
  let statistics = [
    Statistic<"numUnits", "num-units", "Fragments that the schedule orders">,
    Statistic<"numMoved", "num-moved", "Operations that later ones go before">,
    Statistic<"numConflicts", "num-conflicts", "Constraints that data flow contradicts">,
  ];
}

#endif
