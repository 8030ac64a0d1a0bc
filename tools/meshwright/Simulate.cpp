//===- Simulate.cpp - meshwright simulate ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "SimulateProgram.h"
#include "Support/ModuleFile.h"
#include "meshwright/Schedule/PlanFile.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Schedule/Search/SearchedPlan.h"
#include "meshwright/Schedule/Search/StageTimes.h"
#include "meshwright/Simulator/Comparison.h"
#include "meshwright/Simulator/Pipeline/PlanSummary.h"
#include "meshwright/Text/ByteSize.h"
#include "meshwright/Text/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand subCommand("simulate",
                                 "Estimate the time and the memory of a step");
static cl::opt<std::string>
    path(cl::Positional, cl::sub(subCommand),
         cl::desc("<folder of meshwright partition, or partitioned.mlir>"));
static cl::opt<std::string>
    device("device", cl::sub(subCommand), cl::value_desc("name|file.json"),
           cl::desc("Device type of the meshes: h100, a100, tpu-v5p, cpu and "
                    "so on, or a file like devices.json"));
static cl::opt<std::string>
    profile("profile", cl::sub(subCommand), cl::value_desc("file.json"),
            cl::desc("Times that meshwright.profile recorded; they take "
                     "precedence over those of the device"));
static cl::list<std::string>
    costs("cost", cl::sub(subCommand), cl::value_desc("name=flops:expression"),
          cl::desc("What a custom call does, such as "
                   "'flash_attention=flops:4*b*h*t*t*d'; may be repeated"));
static cl::opt<std::string>
    compiled("compiled", cl::sub(subCommand), cl::value_desc("file|folder"),
             cl::desc("Figures of compilers: the output of meshwright compile "
                      "--json, or a saved program; they replace estimates of "
                      "memory, and of times if there are some"));
static cl::opt<std::string>
    memory("memory", cl::sub(subCommand), cl::value_desc("80GB"),
           cl::desc("Memory limit of a device; exceeding it is an error, or "
                    "ranks last with --compare"));
static cl::opt<unsigned>
    processes("processes", cl::init(1), cl::sub(subCommand),
              cl::desc("Processes that issue the program (1)"));
static cl::list<std::string>
    schedules("compare", cl::CommaSeparated, cl::sub(subCommand),
              cl::value_desc("1F1B,ZeroBubbleH1"),
              cl::desc("Rank these schedules, for the stages of the program or "
                       "of --times"));
static cl::list<int64_t>
    microbatches("microbatches", cl::CommaSeparated, cl::sub(subCommand),
                 cl::value_desc("8,16,32"),
                 cl::desc("Numbers of microbatches to compare; without a "
                          "program, the one to simulate"));
static cl::opt<std::string>
    schedule("schedule", cl::sub(subCommand), cl::value_desc("name|file:csv"),
             cl::desc("Without a program: simulate this schedule"));
static cl::opt<int64_t>
    meshes("meshes", cl::init(0), cl::sub(subCommand),
           cl::desc("Without a program: the number of meshes"));
static cl::opt<std::string>
    timesPath("times", cl::sub(subCommand), cl::value_desc("stages.json"),
              cl::desc("Without a program: the times of each stage in "
                       "milliseconds, as for meshwright schedule"));
static cl::list<int64_t>
    scales("scales", cl::CommaSeparated, cl::sub(subCommand),
           cl::value_desc("factors"),
           cl::desc("Without a program: how many times as long each microbatch "
                    "takes, where they differ"));
enum class Overlap { Pairs, None };
static cl::opt<Overlap> overlap(
    "overlap", cl::init(Overlap::Pairs), cl::sub(subCommand),
    cl::desc("What may overlap on a mesh"),
    cl::values(
        clEnumValN(Overlap::Pairs, "pairs",
                   "The parts of overlapped pairs (default)"),
        clEnumValN(Overlap::None, "none",
                   "Nothing: the parts of pairs run one after the other")));
static cl::opt<bool> asJson("json", cl::sub(subCommand),
                            cl::desc("Print everything as JSON"));
static cl::opt<bool>
    withItems("items", cl::sub(subCommand),
              cl::desc("With --json: also each item, and memory over time"));

/// The time of one unit of stages.json.
static constexpr Ticks kUnit = static_cast<Ticks>(kTicksPerSecond / 1000);

static FailureOr<int64_t> readMemory() {
  if (memory.empty())
    return 0;
  llvm::Expected<int64_t> bytes = parseByteSize(memory);
  if (!bytes)
    return reportError("--memory: " + llvm::toString(bytes.takeError()));
  return *bytes;
}

/// Fails if a mesh needs more than there is.
static LogicalResult checkMemory(const Workload &workload,
                                 const Simulation &simulation, int64_t limit) {
  auto fullest =
      llvm::max_element(simulation.meshes, [](const auto &a, const auto &b) {
        return a.peakBytes < b.peakBytes;
      });
  if (limit == 0 || fullest == simulation.meshes.end() ||
      fullest->peakBytes <= limit)
    return success();
  return reportError(
      "mesh " + workload.meshes[fullest - simulation.meshes.begin()].name +
      " needs " + toScaled(static_cast<double>(fullest->peakBytes), "B") +
      " (" + Twine(fullest->peakBytes) +
      " bytes) on each device, but there are " +
      toScaled(static_cast<double>(limit), "B") +
      "; give its stages more devices, or take a schedule that holds fewer "
      "activations");
}

static LogicalResult printResult(const Workload &workload,
                                 const Simulation &simulation, int64_t limit) {
  if (asJson)
    writeJson(workload, simulation, llvm::outs(), withItems);
  else
    printTable(workload, simulation, llvm::outs());
  return checkMemory(workload, simulation, limit);
}

static LogicalResult printSimulation(const Workload &workload, int64_t limit) {
  llvm::Expected<Simulation> simulation =
      simulate(workload, asJson && withItems);
  if (!simulation)
    return reportError(llvm::toString(simulation.takeError()));
  return printResult(workload, *simulation, limit);
}

static LogicalResult printComparison(const PipelineModel &model,
                                     ComparisonRequest request, int64_t limit) {
  if (microbatches.empty())
    return reportError("--compare needs --microbatches, one number or several");
  request.schedules = schedules;
  request.microbatches = microbatches;
  request.memory = limit;
  llvm::Expected<std::vector<Combination>> combinations =
      compare(model, request);
  if (!combinations)
    return reportError(llvm::toString(combinations.takeError()));
  if (asJson)
    writeJson(*combinations, llvm::outs());
  else
    printTable(*combinations, llvm::outs());
  std::string problem = explainMemory(*combinations, limit);
  return problem.empty() ? success() : reportError(problem);
}

static LogicalResult runProgram(int64_t limit) {
  if (device.empty())
    return reportError("expected --device, what the meshes are made of, such "
                       "as --device=h100 or --device=file.json");
  if (!schedule.empty() || meshes > 0 || !timesPath.empty() || !scales.empty())
    return reportError(
        "--schedule, --meshes, --times and --scales are for "
        "pipelines without a program; --compare tries other schedules "
        "with the stages of this one");
  if (schedules.empty() && !microbatches.empty())
    return reportError("--microbatches is for --compare; the program has the "
                       "number that it has");
  // Other schedules pair, if they do, other parts.
  bool overlaps = overlap == Overlap::Pairs && schedules.empty();
  FailureOr<Workload> workload = readWorkload(
      path, {{}, device, profile, costs, processes, compiled, overlaps});
  if (failed(workload))
    return failure();
  if (schedules.empty())
    return printSimulation(*workload, limit);
  llvm::Expected<ProgramStages> stages = findStages(*workload);
  if (!stages)
    return reportError(path + ": " + llvm::toString(stages.takeError()));
  if (!stages->splitsBackward)
    llvm::WithColor::note(llvm::errs())
        << "the program does not split its backward: schedules that do are "
           "simulated with two halves of the same length\n";
  if (overlap == Overlap::None)
    for (StageModel &stage : stages->model.stages)
      stage.times.overlapped.reset();
  ComparisonRequest request;
  request.meshes = stages->numMeshes;
  request.stages = stages->numStages;
  return printComparison(stages->model, std::move(request), limit);
}

/// A stage in picoseconds, and a byte for each microbatch that is live.
static PipelineCosts scale(PipelineCosts costs) {
  auto scaleStage = [](ActionCosts &stage) {
    for (int64_t *time :
         {&stage.forward, &stage.input, &stage.weight, &stage.backward})
      *time *= kUnit;
  };
  auto scaleStages = [&](auto &given) {
    scaleStage(given.usual);
    for (ActionCosts &stage : given.stages)
      scaleStage(stage);
  };
  scaleStages(costs);
  for (BucketCosts &bucket : costs.buckets)
    scaleStages(bucket);
  costs.transfer *= kUnit;
  return costs;
}

/// Of schedule auto, for these times.
static llvm::Expected<Plan> makePlan(const Schedule &schedule,
                                     const PlanShape &shape,
                                     const StageTimes &times) {
  if (!schedule.isSearched || (times.costs.stages.empty() && scales.empty()))
    return schedule.makePlan(shape);
  if (llvm::Error error = schedule.checkShape(shape))
    return error;
  std::vector<bool> splits = times.splits;
  splits.resize(shape.countStages(), true);
  llvm::Expected<SearchedPlan> made =
      searchPlan(shape, times.costs, splits,
                 std::vector<int64_t>(shape.meshes, getUsualLimit(shape)));
  if (!made)
    return made.takeError();
  return std::move(made->plan);
}

/// Of millions of actions, those of which nothing is printed one by one are not made
/// items of a workload.
static LogicalResult simulatePlan(Plan plan, const PipelineCosts &costs,
                                  int64_t limit) {
  if (withItems) {
    Workload workload = makeWorkload(plan, PipelineModel::make(costs));
    plan = {};
    return printSimulation(workload, limit);
  }
  llvm::Expected<PlanSummary> summary = summarizePlan(std::move(plan), costs);
  if (!summary)
    return reportError(llvm::toString(summary.takeError()));
  return printResult(summary->workload, summary->simulation, limit);
}

static LogicalResult runPlan(int64_t limit) {
  if (!device.empty() || !profile.empty() || !costs.empty() ||
      !compiled.empty())
    return reportError("--device, --profile, --compiled and --cost need a "
                       "program: give "
                       "the folder that meshwright partition wrote");
  StageTimes times;
  if (!timesPath.empty()) {
    llvm::Expected<StageTimes> read = readStageTimes(timesPath);
    if (!read)
      return reportError(llvm::toString(read.takeError()));
    times = std::move(*read);
  }
  StringRef name = schedule;
  std::optional<Plan> plan; // Of a file.
  if (name.consume_front("file:")) {
    llvm::Expected<Plan> read = readPlanFile(name);
    if (!read)
      return reportError(llvm::toString(read.takeError()));
    plan = std::move(*read);
  }
  if (!scales.empty()) {
    auto count = static_cast<int64_t>(scales.size());
    if (plan)
      count = plan->countMicrobatches();
    else if (microbatches.empty())
      microbatches.push_back(count);
    for (int64_t other : microbatches)
      count = count == static_cast<int64_t>(scales.size()) ? other : count;
    if (llvm::Error error = times.scaleMicrobatches(scales, count))
      return reportError(llvm::toString(std::move(error)));
  }
  PipelineCosts costsInTicks = scale(times.costs);
  if (plan)
    return simulatePlan(std::move(*plan), costsInTicks, limit);
  int64_t numStages = times.costs.stages.size();
  int64_t numMeshes = meshes > 0 ? int64_t(meshes) : numStages;
  if (numMeshes < 1)
    return reportError("expected --meshes, the number of meshes, or --times "
                       "with the times of each stage");
  int64_t chunks = std::max<int64_t>(1, numStages / numMeshes);
  if (!schedules.empty())
    return printComparison(PipelineModel::make(costsInTicks),
                           {{}, {}, numMeshes, numMeshes * chunks, 0}, limit);
  const Schedule *found = findSchedule(name);
  if (!found)
    return reportError("unknown pipeline schedule '" + name + "', " +
                       listSchedules(name));
  if (numStages == 0)
    chunks = found->usualChunks;
  if (microbatches.size() != 1)
    return reportError("expected --microbatches, one number");
  PlanShape shape{numMeshes, microbatches.front(), chunks};
  llvm::Expected<Plan> made = makePlan(*found, shape, times);
  if (!made)
    return reportError(llvm::toString(made.takeError()));
  return simulatePlan(std::move(*made), costsInTicks, limit);
}

static LogicalResult run() {
  FailureOr<int64_t> limit = readMemory();
  if (failed(limit))
    return failure();
  if (withItems && !asJson)
    return reportError("--items is for --json; give that as well");
  if (!path.empty())
    return runProgram(*limit);
  if (schedule.empty() && schedules.empty())
    return reportError("expected a folder that meshwright partition wrote, or "
                       "--schedule or --compare with --meshes and "
                       "--microbatches");
  return runPlan(*limit);
}

const Command meshwright::simulateCommand = {subCommand, run};
