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
    counter that are forward or backward, in the order that a schedule defines.

    ```mlir
    %0 = fragment<"m", ["f"]> (%x) {call_counter = 0 : ui32}
    %1 = fragment<"m", ["f"(1)]> (%0) {call_counter = 0 : ui32}
    %2 = fragment<"m", ["f"]> (%y) {call_counter = 1 : ui32}
    // with GPipe becomes %0, %2, %1
    ```

    Acts on MPMD functions. Data flow takes precedence over the schedule, and of
    two contradicting constraints the one of the earlier fragment. Then the
    block is sorted topologically, and stably; other ops move only as far as
    necessary. Leaves operations, operands, attributes and locations as they
    are. The index of a mesh counts the meshes of the topology whose name does
    not end in `/cpu`.

    A schedule that is a plan, as are those with several stages on each mesh and
    all from files, requires that the program has its stages on its meshes. It
    reports an error otherwise, and a warning where data flow contradicts it.
    The zero-bubble relations do not move weight gradients; with
    `add-schedule-dependencies`, these go where the plan has them, too, if the
    program is the pipeline of the plan.

    Schedule `auto` makes its plan for the work of the fragments: floating point
    operations, or, with a device or a profile, seconds. For these, a copy of
    the function is sharded as in the shard phase. Cost: linear in the ops but
    for one sort; where something contradicts, or if control dependencies are
    kept, for each unit linear in the ops.
  }];
  let options = [
    Option<"mustHappenBefore", "must-happen-before",
           "::mlir::mpmd::ScheduleOption",
           /*default=*/"::mlir::mpmd::getDefaultSchedule()",
           "The schedule: a name, optionally after `builtin:`, or `file:` "
           "and the path of a CSV file.">,
    Option<"device", "device", "::meshwright::TextOption", /*default=*/"",
           "For schedule auto: the device, a known name or a file, on which "
           "to estimate seconds; if empty, FLOPs are counted.">,
    Option<"othersUseDevice", "others-use-device", "bool", /*default=*/"false",
           "Do not warn about a device that the schedule does not use.">,
    Option<"profile", "profile", "::meshwright::TextOption", /*default=*/"",
           "For schedule auto: a file of recorded times, which take "
           "precedence over estimates for the device.">,
    Option<"customCosts", "custom-costs", "::meshwright::TextOption",
           /*default=*/"",
           "For schedule auto: costs of custom calls, separated by "
           "semicolons.">,
    Option<"memory", "memory", "::meshwright::TextOption", /*default=*/"",
           "For schedule auto: maximum number of activations, one per stage "
           "and microbatch, that a mesh may hold; one number, or one per "
           "mesh, separated by commas.">,
    Option<"removeDependencies", "remove-control-dependencies", "bool",
           /*default=*/"true",
           "Record the order in the block only, not in attributes for "
           "mpmd-rule-based-merge as well.">,
    Option<"addScheduleDependencies", "add-schedule-dependencies", "bool",
           /*default=*/"false",
           "Order pairs that a zero-bubble relation leaves unordered as its "
           "plan does.">,
    Option<"onlyRestore", "only-restore", "bool", /*default=*/"false",
           "Restore the schedule after fragments were merged if its exact "
           "order is possible; otherwise silently do nothing.">,
    Option<"reportUnmet", "report-unmet", "bool", /*default=*/"false",
           "Warn if data flow contradicts the schedule, or if no backward "
           "fragment is split to fill its bubbles; always on for plans.">,
    Option<"microbatchPasses", "microbatch-passes", "::meshwright::TextOption",
           /*default=*/"",
           "First and last call counters of each pass over the "
           "microbatches, such as 0-7,8-15. One may wait for another without "
           "a warning.">,
  ];
  let statistics = [
    Statistic<"numUnits", "num-units", "Fragments ordered by the schedule">,
    Statistic<"numMoved", "num-moved", "Operations overtaken by later ones">,
    Statistic<"numConflicts", "num-conflicts", "Constraints that data flow contradicts">,
  ];
}

#endif
