//===- Schedule.cpp - meshwright schedule ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Schedule.h"
#include "Commands.h"
#include "ModuleFile.h"
#include "meshwright/Schedule/PlanFile.h"
#include "meshwright/Schedule/Timeline.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand subCommand("schedule",
                                 "Draw a pipeline schedule, or list them");
static cl::opt<std::string>
    name(cl::Positional, cl::sub(subCommand),
         cl::desc("[<name>|file:<schedule.csv>; without it, the known ones]"));
static cl::opt<unsigned> meshes("meshes", cl::init(4), cl::sub(subCommand),
                                cl::desc("Meshes of the pipeline (4)"));
static cl::opt<unsigned>
    microbatches("microbatches", cl::init(8), cl::sub(subCommand),
                 cl::desc("Parts of the batch, or call counters (8)"));
static cl::opt<unsigned> stages("stages-per-mesh", cl::init(0),
                                cl::sub(subCommand),
                                cl::desc("Stages on each mesh (what is usual "
                                         "for the schedule)"));
static cl::opt<int64_t>
    forwardCost("forward", cl::init(1), cl::sub(subCommand),
                cl::desc("Time of a forward of one stage (1)"));
static cl::opt<int64_t>
    inputCost("input", cl::init(1), cl::sub(subCommand),
              cl::desc("Time of the gradient of its input (1)"));
static cl::opt<int64_t>
    weightCost("weight", cl::init(1), cl::sub(subCommand),
               cl::desc("Time of the gradient of its weights (1)"));
static cl::opt<int64_t>
    transferCost("transfer", cl::init(0), cl::sub(subCommand),
                 cl::desc("Time of a transfer to another mesh (0)"));
static cl::opt<bool> asCsv("csv", cl::sub(subCommand),
                           cl::desc("Print the order only, as a CSV file that "
                                    "can be changed and used as a schedule"));
static cl::opt<bool> asSvg("svg", cl::sub(subCommand),
                           cl::desc("Draw the timeline as an SVG image"));

static void listAll() {
  size_t width = 0;
  for (const Schedule *schedule : getSchedules())
    width = std::max(width, schedule->name.size());
  for (const Schedule *schedule : getSchedules())
    llvm::outs() << llvm::left_justify(schedule->name, width) << "  "
                 << schedule->description << "\n";
}

static llvm::Expected<Plan> makePlan() {
  StringRef path = name;
  if (path.consume_front("file:"))
    return readPlanFile(path);
  const Schedule *schedule = findSchedule(name);
  if (!schedule)
    return llvm::createStringError("unknown pipeline schedule '" + name +
                                   "', " + listSchedules(name));
  int64_t chunks = schedule->usualChunks;
  if (stages.getNumOccurrences() > 0)
    chunks = stages;
  return schedule->makePlan({meshes, microbatches, chunks});
}

static LogicalResult run() {
  if (name.empty()) {
    listAll();
    return success();
  }
  ActionCosts costs;
  costs.forward = forwardCost;
  costs.input = inputCost;
  costs.weight = weightCost;
  costs.backward = inputCost + weightCost;
  costs.transfer = transferCost;
  for (int64_t cost : {costs.forward, costs.input, costs.weight})
    if (cost < 1)
      return reportError("a forward, and each half of a backward, takes a "
                         "time of at least 1");
  constexpr int64_t kLongest = int64_t(1) << 32;
  for (int64_t cost :
       {costs.forward, costs.input, costs.weight, costs.transfer})
    if (cost > kLongest)
      return reportError("an action takes a time of at most " +
                         Twine(kLongest));
  if (costs.transfer < 0)
    return reportError("a transfer cannot take less than no time");
  llvm::Expected<Plan> plan = makePlan();
  if (!plan)
    return reportError(llvm::toString(plan.takeError()));
  if (asCsv && asSvg)
    return reportError("--csv prints the order and --svg draws it; choose one");
  if (asCsv) {
    printCsv(*plan, llvm::outs());
    return success();
  }
  llvm::Expected<Timeline> timeline = simulatePlan(*plan, costs);
  if (!timeline)
    return reportError(llvm::toString(timeline.takeError()));
  constexpr int64_t kMostUnits = 1 << 22;
  if (timeline->makespan > kMostUnits / int64_t(plan->meshes.size()))
    return reportError("a timeline of " + Twine(plan->meshes.size()) +
                       " meshes and " + Twine(timeline->makespan) +
                       " units of time is too large to be drawn; take a larger "
                       "unit, or print the order with --csv");
  if (asSvg)
    printTimelineSvg(*plan, *timeline, name, llvm::outs());
  else
    printTimeline(*plan, *timeline, llvm::outs());
  return success();
}

const Command meshwright::scheduleCommand = {subCommand, run};
