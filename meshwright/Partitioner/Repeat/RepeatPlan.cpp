//===- RepeatPlan.cpp - How many microbatches are enough ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/RepeatPlan.h"
#include "meshwright/Schedule/Schedule.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <map>

using namespace meshwright;
using namespace mlir::mpmd;

/// How often a plan repeats itself at least, and how many times as many microbatches a
/// program must have for it to be worth it.
static constexpr int64_t kPeriods = 6, kWorth = 2;

/// How many microbatches show what each is made of: three that are alike, one more to compare
/// with, and up to three at the beginning and the end that differ.
static constexpr int64_t kFewest = 10;

/// The first option that makes something of all microbatches.
static std::string findWholeOption(const ConfigOptions &options) {
  const InspectionOptions &inspection = options.inspection;
  const OptimizeOptions &optimizing = options.optimizing;
  std::pair<bool, llvm::StringRef> reasons[] = {
      {!inspection.dumpFolder.empty(), "mpmd_dump"},
      {inspection.timePasses, "mpmd_time_passes"},
      {inspection.countWork, "mpmd_pass_statistics"},
      {!inspection.reproducer.empty(), "mpmd_reproducer"},
      {!inspection.remarks.empty(), "mpmd_remarks"},
      {options.exporting.verboseLogging, "mpmd_verbose_logging"},
      {!optimizing.keepUnitsAlike, "mpmd_keep_units_alike"},
      {!optimizing.mergeRules.empty(), "rules that merge fragments"},
      {!optimizing.scheduleRules.empty(), "rules that order fragments"},
      {!optimizing.scheduleDevice.empty(), "mpmd_schedule_device"},
      {!optimizing.scheduleProfile.empty(), "mpmd_schedule_profile"},
      {options.sharding.deviceMemory > 0, "mpmd_device_memory"},
      {options.sharding.hoistBytes >= 0, "mpmd_hoist_bytes"},
      {!options.exporting.offloadActivations.empty(),
       "mpmd_offload_activations"},
      {!options.exporting.receiveAhead.empty(), "mpmd_receive_ahead"}};
  for (auto [isGiven, name] : reasons)
    if (isGiven)
      return name.str();
  return "";
}

/// The mesh of each stage; empty unless they are numbered from 0.
static std::vector<std::string> listStages(const PartitionConfig &config) {
  std::map<int64_t, std::string> meshes;
  for (const PartitionConfig::Assignment &entry : config.assignment)
    if (entry.stage)
      meshes[*entry.stage] = entry.mesh;
  std::vector<std::string> stages;
  for (auto &[stage, mesh] : meshes) {
    if (stage != static_cast<int64_t>(stages.size()))
      return {};
    stages.push_back(mesh);
  }
  return stages;
}

/// The lists of a plan; the kinds are numbered as they come.
static std::vector<RepeatedCalls>
listCalls(const Plan &plan,
          std::map<std::pair<int64_t, ActionKind>, unsigned> &kinds) {
  std::vector<RepeatedCalls> lists;
  for (const ActionList &list : plan.meshes) {
    RepeatedCalls &calls = lists.emplace_back();
    for (const Action &action : list)
      calls.push_back(
          {kinds.try_emplace({action.stage, action.kind}, kinds.size())
               .first->second,
           action.microbatch});
  }
  return lists;
}

int64_t RepeatPlan::countItems(const PartitionConfig &config,
                               int64_t microbatches) {
  // Forward and backward work, and transfers between stages.
  auto numStages = static_cast<int64_t>(listStages(config).size());
  return std::max<int64_t>(4 * numStages - 2, 0) * microbatches;
}

/// How many microbatches a mesh begins before the first one goes back, of those that go
/// back before the last one has begun.
static int64_t countAhead(const Plan &plan, int64_t microbatches) {
  int64_t most = 0;
  for (const ActionList &list : plan.meshes) {
    llvm::DenseSet<int64_t> begun;
    for (const Action &action : list) {
      if (!isForward(action.kind))
        break;
      begun.insert(action.microbatch);
    }
    most = std::max<int64_t>(most, begun.size());
  }
  return most < microbatches ? most : 0;
}

/// Whether nothing after the scheduler changes the order of units, or what they are made of,
/// by that order.
static bool keepsScheduledOrder(const ConfigOptions &options) {
  const OptimizeOptions &optimizing = options.optimizing;
  return !options.importing.splitBwdFragments &&
         !optimizing.mergeAfterScheduling && !optimizing.applyRemat &&
         !optimizing.accumulateInUnits && !optimizing.mergeForwardWithBackward;
}

namespace {
/// Plans of a schedule for some numbers of microbatches.
class PlanMaker {
public:
  PlanMaker(const Schedule &schedule, int64_t numMeshes, int64_t numStages)
      : schedule(schedule), numMeshes(numMeshes), numStages(numStages) {}

  std::optional<Plan> make(int64_t microbatches) const {
    llvm::Expected<Plan> plan =
        schedule.makePlan({numMeshes, microbatches, numStages / numMeshes});
    if (plan)
      return std::move(*plan);
    llvm::consumeError(plan.takeError());
    return std::nullopt;
  }
  /// After how many microbatches a plan may repeat itself.
  std::array<int64_t, 4> getPeriods() const {
    return {1, 2, numMeshes, 2 * numMeshes};
  }

private:
  const Schedule &schedule;
  int64_t numMeshes, numStages;
};
} // namespace

/// From how many microbatches on a plan can be continued, with their plan.
static std::optional<std::pair<RepeatCounts, Plan>>
findContinued(const PlanMaker &maker, const Plan &whole, int64_t microbatches,
              int64_t numStages) {
  std::map<std::pair<int64_t, ActionKind>, unsigned> kinds;
  std::vector<RepeatedCalls> ofMany = listCalls(whole, kinds);
  for (int64_t period : maker.getPeriods()) {
    // Filling and draining take about as many microbatches as there are stages.
    int64_t few = std::max(numStages, countAhead(whole, microbatches)) +
                  kPeriods * period;
    few += (microbatches - few) % period;
    if (kWorth * few > microbatches)
      continue;
    std::optional<Plan> part = maker.make(few);
    if (!part || part->meshes.size() != whole.meshes.size())
      continue;
    RepeatCounts counts{few, microbatches, period};
    std::vector<RepeatedCalls> ofFew = listCalls(*part, kinds);
    if (llvm::all_of(llvm::zip(ofFew, ofMany), [&](auto lists) {
          auto &[fewCalls, manyCalls] = lists;
          return repeatOrder(fewCalls, kinds.size(), counts) == manyCalls;
        }))
      return std::pair(counts, std::move(*part));
  }
  return std::nullopt;
}

/// A few microbatches that the schedule has a plan of, fewer than fill the pipeline.
static std::optional<std::pair<RepeatCounts, Plan>>
findOrdered(const PlanMaker &maker, const Plan &whole, int64_t microbatches,
            int64_t numStages) {
  for (int64_t period : maker.getPeriods()) {
    int64_t few = kFewest + (microbatches - kFewest) % period;
    if (few >= numStages + kPeriods || kWorth * few > microbatches)
      continue;
    std::optional<Plan> part = maker.make(few);
    if (part && part->meshes.size() == whole.meshes.size())
      return std::pair(RepeatCounts{few, microbatches, 1}, std::move(*part));
  }
  return std::nullopt;
}

std::optional<RepeatPlan> RepeatPlan::find(const PartitionConfig &config,
                                           int64_t microbatches, bool mayOrder,
                                           std::string &whyNot) {
  std::vector<std::string> stages = listStages(config);
  auto numStages = static_cast<int64_t>(stages.size());
  ConfigOptions options = config.resolveOptions();
  const ScheduleOption &option = options.optimizing.schedule;
  if (std::string name = findWholeOption(options); !name.empty()) {
    whyNot = "by " + name + " the result may depend on all of them";
    return std::nullopt;
  }
  whyNot = "schedule " + option.getName() + " cannot be repeated";
  if (!option.schedule || option.schedule->isSearched ||
      option.sequenceChunks != 1 || !option.graph.isChain())
    return std::nullopt;
  llvm::StringMap<unsigned> meshes;
  for (const std::string &mesh : stages)
    meshes.try_emplace(mesh, meshes.size());
  auto numMeshes = static_cast<int64_t>(meshes.size());
  if (numStages % numMeshes)
    return std::nullopt;

  PlanMaker maker(*option.schedule, numMeshes, numStages);
  std::optional<Plan> whole = maker.make(microbatches);
  if (!whole)
    return std::nullopt;
  std::optional<std::pair<RepeatCounts, Plan>> part;
  if (mayOrder && keepsScheduledOrder(options))
    part = findOrdered(maker, *whole, microbatches, numStages);
  RepeatPlan found;
  found.isOrdered = part.has_value();
  if (!part)
    part = findContinued(maker, *whole, microbatches, numStages);
  if (!part) {
    whyNot += " for this many microbatches and stages";
    return std::nullopt;
  }
  found.counts = part->first;
  std::map<std::pair<int64_t, ActionKind>, unsigned> kinds;
  std::vector<RepeatedCalls> ofFew = listCalls(part->second, kinds),
                             ofMany = listCalls(*whole, kinds);
  found.ofFew.resize(config.topology.size());
  found.ofMany.resize(config.topology.size());
  for (auto [row, list] : llvm::enumerate(part->second.meshes)) {
    if (list.empty())
      return std::nullopt;
    const std::string &name = stages[list.front().stage];
    auto place =
        llvm::find_if(config.topology, [&](const PartitionConfig::Mesh &mesh) {
          return mesh.name == name;
        });
    if (place == config.topology.end())
      return std::nullopt;
    size_t mesh = place - config.topology.begin();
    found.ofFew[mesh] = std::move(ofFew[row]);
    found.ofMany[mesh] = std::move(ofMany[row]);
  }
  return found;
}

/// Whether calls are those of a list of a plan. Where a fragment does the work of several
/// actions, such as both halves of the backward work of a stage that sends nothing back, it
/// has the place of the first. What is found of kinds is added to `kinds` and `without`.
static bool isListed(llvm::ArrayRef<RepeatedEntry> calls,
                     llvm::ArrayRef<RepeatedEntry> list,
                     llvm::DenseMap<unsigned, unsigned> &kinds,
                     llvm::DenseSet<unsigned> &without) {
  llvm::DenseSet<unsigned> used;
  for (auto [call, action] : kinds)
    used.insert(action);
  for (RepeatedEntry action : list) {
    if (without.contains(action.kind))
      continue;
    if (!calls.empty() && calls.front().microbatch == action.microbatch) {
      unsigned call = calls.front().kind;
      auto [known, isNew] = kinds.try_emplace(call, action.kind);
      if (known->second == action.kind) {
        used.insert(action.kind);
        calls = calls.drop_front();
        continue;
      }
    }
    if (used.contains(action.kind))
      return false;
    without.insert(action.kind);
  }
  return calls.empty();
}

bool RepeatPlan::isOrderOf(const std::vector<RepeatedCalls> &few,
                           const std::vector<RepeatedCalls> &many) const {
  llvm::DenseMap<unsigned, unsigned> kinds; // In the plan.
  llvm::DenseSet<unsigned> without;         // Of the plan.
  if (few.size() != ofFew.size())
    return false;
  for (auto [calls, list] : llvm::zip_equal(few, ofFew))
    if (!isListed(calls, list, kinds, without))
      return false;
  for (auto [calls, list] : llvm::zip_equal(many, ofMany))
    if (!isListed(calls, list, kinds, without))
      return false;
  return true;
}
