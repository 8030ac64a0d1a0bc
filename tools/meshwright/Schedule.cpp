//===- Schedule.cpp - meshwright schedule ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Schedule.h"
#include "Commands.h"
#include "Support/ModuleFile.h"
#include "meshwright/Schedule/Layout.h"
#include "meshwright/Schedule/PlanFile.h"
#include "meshwright/Schedule/Search/SearchedPlan.h"
#include "meshwright/Schedule/Search/StageTimes.h"
#include "meshwright/Schedule/Timeline.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand subCommand("schedule",
                                 "Draw a pipeline schedule, or list them");
static cl::opt<std::string>
    name(cl::Positional, cl::sub(subCommand),
         cl::desc("[<name>|<name>:<chunks of each "
                  "sequence>|Towers:<towers>|file:<schedule.csv>; without it, "
                  "the known ones]"));
static cl::opt<unsigned> meshes("meshes", cl::init(4), cl::sub(subCommand),
                                cl::desc("Meshes of the pipeline (4)"));
static cl::opt<unsigned> microbatches("microbatches", cl::init(8),
                                      cl::sub(subCommand),
                                      cl::desc("Number of microbatches (8)"));
static cl::opt<unsigned>
    stages("stages-per-mesh", cl::init(0), cl::sub(subCommand),
           cl::desc("Stages on each mesh (what is usual for the schedule)"));
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
static cl::opt<std::string>
    timesPath("times", cl::sub(subCommand), cl::value_desc("stages.json"),
              cl::desc("Times of each stage, instead of those of all"));
static cl::opt<std::string>
    layoutText("layout", cl::sub(subCommand), cl::value_desc("text"),
               cl::desc("What each stage holds, as in 'Et*3|(tt|)*29,m|L'; the "
                        "times are those of a piece"));
static cl::list<int64_t>
    mostLive("memory", cl::CommaSeparated, cl::sub(subCommand),
             cl::value_desc("live"),
             cl::desc("For auto: how many microbatches, of all its stages, a "
                      "mesh may keep for their backward; one number, or one "
                      "for each mesh (as many as there are stages)"));
static cl::opt<int64_t>
    hostTime("host", cl::init(0), cl::sub(subCommand), cl::value_desc("time"),
             cl::desc("For auto: time to copy the activations of a microbatch "
                      "and stage to host memory, or back; those in host memory "
                      "do not count for --memory"));
static cl::list<int64_t>
    scales("scales", cl::CommaSeparated, cl::sub(subCommand),
           cl::value_desc("factors"),
           cl::desc("How many times as long each microbatch takes, where they "
                    "differ: 1,1,4 for two short ones and a long one"));
static cl::opt<bool> asJson("json", cl::sub(subCommand),
                            cl::desc("Print order, times and figures as JSON"));
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

constexpr int64_t kLongest = int64_t(1) << 32; ///< Of an action.

/// The costs of all stages, or those of the file.
static llvm::Expected<StageTimes> readTimes() {
  ActionCosts costs;
  costs.forward = forwardCost;
  costs.input = inputCost;
  costs.weight = weightCost;
  for (int64_t cost : {costs.forward, costs.input, costs.weight})
    if (cost < 1)
      return llvm::createStringError(
          "a forward, and each half of a backward, takes a time of at least 1");
  for (int64_t cost :
       {costs.forward, costs.input, costs.weight, transferCost.getValue()})
    if (cost > kLongest)
      return llvm::createStringError("an action takes a time of at most " +
                                     llvm::Twine(kLongest));
  costs.backward = costs.input + costs.weight;
  if (transferCost < 0)
    return llvm::createStringError("a transfer takes a time of 0 or more");
  StageTimes times;
  if (timesPath.empty()) {
    times.costs.usual = costs;
  } else {
    for (cl::opt<int64_t> *cost : {&forwardCost, &inputCost, &weightCost})
      if (cost->getNumOccurrences() > 0)
        return llvm::createStringError(
            "--" + cost->ArgStr +
            " is given for each stage by --times; leave it out");
    llvm::Expected<StageTimes> read = readStageTimes(timesPath);
    if (!read)
      return read;
    times = std::move(*read);
  }
  if (transferCost.getNumOccurrences() > 0)
    times.costs.transfer = transferCost;
  return times;
}

/// For a schedule by its name, of as many microbatches as there are factors.
static llvm::Error scaleMicrobatches(StageTimes &times,
                                     const NamedSchedule &named) {
  if (scales.empty())
    return llvm::Error::success();
  if (named.sequenceChunks > 1)
    return llvm::createStringError(
        "--scales is for whole sequences; those that are cut into chunks are "
        "of one length");
  if (microbatches.getNumOccurrences() == 0)
    microbatches = scales.size();
  return times.scaleMicrobatches(scales, microbatches);
}

/// The pieces of each stage, whose times become those of the stages.
static llvm::Expected<std::vector<std::string>> readLayout(StageTimes &times) {
  llvm::Expected<std::vector<std::string>> pieces = parseLayout(layoutText);
  if (!pieces)
    return pieces;
  size_t numTimes = times.costs.stages.size();
  if (numTimes == 0)
    times.costs.stages = getCosts(*pieces, times.costs.usual);
  else if (numTimes != pieces->size())
    return llvm::createStringError(
        llvm::formatv("--layout has {0} stages, but {1} has the times of {2}",
                      pieces->size(), timesPath.getValue(), numTimes));
  return pieces;
}

/// As many meshes as the file has stages for, if nothing else is said.
static int64_t countMeshes(const StageTimes &times) {
  int64_t numStages = times.costs.stages.size();
  if (numStages == 0 || meshes.getNumOccurrences() > 0)
    return meshes;
  int64_t chunks = stages.getNumOccurrences() > 0 ? stages : 1;
  return std::max<int64_t>(1, numStages / std::max<int64_t>(1, chunks));
}

/// The number of stages on each mesh; the file may say it.
static llvm::Expected<int64_t> findChunks(const StageTimes &times,
                                          int64_t meshes, int64_t usual) {
  int64_t numStages = times.costs.stages.size();
  if (stages.getNumOccurrences() > 0)
    usual = stages;
  else if (numStages > 0 && times.placement.empty() && meshes > 0)
    usual = std::max<int64_t>(1, numStages / meshes);
  int64_t all = 0;
  if (llvm::MulOverflow(usual, meshes, all))
    all = std::numeric_limits<int64_t>::max();
  if (numStages > 0 && times.placement.empty() && all != numStages)
    return llvm::createStringError(
        llvm::formatv("{0} has {1} stages, but {2} meshes with {3} each have "
                      "{4}; give --meshes and --stages-per-mesh that fit{5}",
                      timesPath.empty() ? "--layout" : timesPath.getValue(),
                      numStages, meshes, usual, all,
                      timesPath.empty() ? "" : ", or the mesh of each stage"));
  return usual;
}

static llvm::Expected<std::vector<int64_t>>
findMemoryLimits(const PlanShape &shape) {
  if (mostLive.empty())
    return std::vector<int64_t>(shape.meshes, getUsualLimit(shape));
  if (mostLive.size() == 1)
    return std::vector<int64_t>(shape.meshes, mostLive.front());
  if (static_cast<int64_t>(mostLive.size()) != shape.meshes)
    return llvm::createStringError(llvm::formatv(
        "--memory has {0} numbers for {1} meshes; give one, or one for each",
        mostLive.size(), shape.meshes));
  return std::vector<int64_t>(mostLive);
}

static std::optional<int64_t> findHostTime() {
  if (hostTime.getNumOccurrences() == 0)
    return std::nullopt;
  return hostTime;
}

/// For the stages of the file on the meshes that it says.
static llvm::Expected<SearchedPlan> makePlaced(const StageTimes &times) {
  PipelineProblem problem;
  problem.microbatches = microbatches;
  problem.costs = times.costs;
  problem.splits = times.splits;
  problem.placement = times.placement;
  int64_t numMeshes = 1 + *llvm::max_element(times.placement);
  if (meshes.getNumOccurrences() > 0 && meshes != numMeshes)
    return llvm::createStringError(
        llvm::formatv("{0} has stages on {1} meshes, but --meshes says {2}",
                      timesPath.getValue(), numMeshes, meshes.getValue()));
  int64_t numStages = times.placement.size();
  auto limits = findMemoryLimits({numMeshes, problem.microbatches, 1});
  if (!limits)
    return limits.takeError();
  if (mostLive.empty())
    limits->assign(numMeshes, numStages);
  problem.mostLive = std::move(*limits);
  problem.hostTime = findHostTime();
  return searchPlan(problem);
}

static llvm::Expected<SearchedPlan> makeMeasured(const StageTimes &times,
                                                 ArrayRef<std::string> pieces) {
  if (!times.placement.empty())
    return makePlaced(times);
  int64_t numMeshes = countMeshes(times);
  llvm::Expected<int64_t> chunks = findChunks(times, numMeshes, 1);
  if (!chunks)
    return chunks.takeError();
  PlanShape shape{numMeshes, microbatches, *chunks};
  if (llvm::Error error = findSchedule("auto")->checkShape(shape))
    return error;
  auto limits = findMemoryLimits(shape);
  if (!limits)
    return limits.takeError();
  std::vector<bool> splits = times.splits;
  splits.resize(shape.meshes * shape.chunks, true);
  SmallVector<bool> empty = llvm::map_to_vector(
      pieces, [](const std::string &stage) { return stage.empty(); });
  return searchPlan(shape, times.costs, splits, *limits, findHostTime(), empty);
}

static llvm::Expected<SearchedPlan> simulate(llvm::Expected<Plan> plan,
                                             const StageTimes &times) {
  if (!plan)
    return plan.takeError();
  llvm::Expected<Timeline> timeline = simulatePlan(*plan, times.costs);
  if (!timeline)
    return timeline.takeError();
  SearchedPlan found;
  found.plan = std::move(*plan);
  found.timeline = std::move(*timeline);
  return found;
}

/// For the towers of the name, on as many meshes as they have.
static llvm::Expected<SearchedPlan> makeGraph(const NamedSchedule &named,
                                              const StageTimes &times) {
  const StageGraph &graph = named.graph;
  if (meshes.getNumOccurrences() > 0 && meshes != graph.countMeshes())
    return llvm::createStringError(llvm::formatv(
        "the towers are on {0} meshes, but --meshes says {1}; leave it out",
        graph.countMeshes(), meshes.getValue()));
  if (stages.getNumOccurrences() > 0 || layoutText.getNumOccurrences() > 0)
    return llvm::createStringError("the towers say which stages there are; "
                                   "leave --stages-per-mesh and --layout out");
  if (size_t given = times.costs.stages.size();
      given > 0 && (!times.placement.empty() ||
                    static_cast<int64_t>(given) != graph.countStages()))
    return llvm::createStringError(
        llvm::formatv("{0} must have the times of the {1} stages of the "
                      "towers, without meshes",
                      timesPath.getValue(), graph.countStages()));
  PlanShape shape{graph.countMeshes(), microbatches};
  shape.graph = graph;
  if (!named.schedule->isSearched)
    return simulate(named.schedule->makePlan(shape), times);
  if (llvm::Error error = named.schedule->checkShape(shape))
    return error;
  PipelineProblem problem;
  problem.microbatches = microbatches;
  problem.costs = times.costs;
  problem.splits = times.splits;
  problem.splits.resize(graph.countStages(), true);
  if (llvm::Error error = problem.place(graph))
    return error;
  auto limits = findMemoryLimits(shape);
  if (!limits)
    return limits.takeError();
  problem.mostLive =
      mostLive.empty() ? getUsualLimits(graph) : std::move(*limits);
  problem.hostTime = findHostTime();
  return searchPlan(problem);
}

static llvm::Error refuseLimits(const Schedule &schedule) {
  if (mostLive.empty() && hostTime.getNumOccurrences() == 0)
    return llvm::Error::success();
  return llvm::createStringError(
      Twine(mostLive.empty() ? "--host" : "--memory") +
      " is for schedule auto, and what " + schedule.name +
      " keeps is fixed; leave it out, or take auto");
}

static llvm::Expected<SearchedPlan> makePlan() {
  llvm::Expected<StageTimes> times = readTimes();
  if (!times)
    return times.takeError();
  StringRef path = name;
  if (path.consume_front("file:")) {
    if (layoutText.getNumOccurrences() > 0)
      return llvm::createStringError("--layout is for a schedule by its name; "
                                     "the file says which stages there are");
    llvm::Expected<Plan> plan = readPlanFile(path);
    if (plan && !scales.empty())
      if (llvm::Error error =
              times->scaleMicrobatches(scales, plan->countMicrobatches()))
        return error;
    return simulate(std::move(plan), *times);
  }
  llvm::Expected<NamedSchedule> named = parseScheduleName(name);
  if (!named)
    return named.takeError();
  const Schedule *schedule = named->schedule;
  if (hostTime < 0 || hostTime > kLongest)
    return llvm::createStringError(
        llvm::formatv("--host is a time of 0 to {0}, got {1}", kLongest,
                      hostTime.getValue()));
  if (!named->graph.isChain()) {
    if (!schedule->isSearched)
      if (llvm::Error error = refuseLimits(*schedule))
        return error;
    if (llvm::Error error = scaleMicrobatches(*times, *named))
      return error;
    return makeGraph(*named, *times);
  }
  std::vector<std::string> pieces;
  if (layoutText.getNumOccurrences() > 0) {
    llvm::Expected<std::vector<std::string>> read = readLayout(*times);
    if (!read)
      return read.takeError();
    pieces = std::move(*read);
  }
  if (llvm::Error error = scaleMicrobatches(*times, *named))
    return error;
  if (schedule->isSearched)
    return makeMeasured(*times, pieces);
  if (llvm::Error error = refuseLimits(*schedule))
    return error;
  int64_t numMeshes = countMeshes(*times);
  llvm::Expected<int64_t> chunks =
      findChunks(*times, numMeshes, schedule->usualChunks);
  if (!chunks)
    return chunks.takeError();
  int64_t units = 0;
  if (llvm::MulOverflow<int64_t>(microbatches, named->sequenceChunks, units))
    units = std::numeric_limits<int64_t>::max();
  llvm::Expected<Plan> plan =
      schedule->makePlan({numMeshes, units, *chunks, named->sequenceChunks});
  if (plan && !pieces.empty())
    dropEmptyStages(*plan, pieces);
  return simulate(std::move(plan), *times);
}

static void printMeasure(const SearchedPlan &made) {
  if (made.lowerBound == 0)
    return;
  if (made.optimal)
    llvm::outs() << "no order is shorter\n";
  else
    llvm::outs() << llvm::formatv(
        "no order is shorter than {0}: this one is at most {1:P1} from it\n",
        made.lowerBound, made.getDistance());
  if (!made.builtin.empty())
    llvm::outs() << "the order of " << made.builtin << "\n";
  if (!made.hosts)
    return;
  llvm::outs() << "of them on the devices, the others on hosts:";
  for (int64_t parts : made.hosts->onDevices)
    llvm::outs() << llvm::format(" %g", static_cast<double>(parts) /
                                            kPartsOfMicrobatch);
  llvm::outs() << "\n";
}

static LogicalResult run() {
  if (name.empty()) {
    listAll();
    return success();
  }
  llvm::Expected<SearchedPlan> made = makePlan();
  if (!made)
    return reportError(llvm::toString(made.takeError()));
  if (asCsv + asJson + asSvg > 1)
    return reportError("--csv prints the order, --json also the times, and "
                       "--svg draws them; choose one");
  if (asCsv) {
    printCsv(made->plan, llvm::outs());
    return success();
  }
  if (asJson) {
    printJson(*made, llvm::outs());
    return success();
  }
  constexpr int64_t kMostUnits = 1 << 22;
  const Timeline &timeline = made->timeline;
  if (timeline.makespan > kMostUnits / int64_t(made->plan.meshes.size()))
    return reportError("a timeline of " + Twine(made->plan.meshes.size()) +
                       " meshes and " + Twine(timeline.makespan) +
                       " units of time is too large to be drawn; take a larger "
                       "unit, or print the order with --csv or --json");
  if (asSvg) {
    printTimelineSvg(made->plan, timeline, name, llvm::outs());
    return success();
  }
  printTimeline(made->plan, timeline, llvm::outs());
  printMeasure(*made);
  return success();
}

const Command meshwright::scheduleCommand = {subCommand, run};
