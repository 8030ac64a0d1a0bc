//===- PlanConstraints.cpp - What a plan requires of a program ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A plan is made for a shape, which is read off the program: the meshes are
// those of the pipeline, the microbatches the call counters, the stages those
// of the fragments, or the meshes where fragments have none. Each unit is then
// looked up in the list of its mesh, and its place there is its constraint.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/PlanConstraints.h"
#include "meshwright/Fragments/Split/SplitFragment.h"
#include "meshwright/Optimize/Scheduler/MeasuredPlan.h"
#include "meshwright/Optimize/Scheduler/ScheduleWarnings.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <map>
#include <memory>
#include <set>

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::ActionKind;
using meshwright::Constraints;
using meshwright::Place;
using meshwright::Plan;
using meshwright::PlanShape;
using meshwright::WorkItem;
using meshwright::WorkKind;

namespace {
/// Where each action is: its mesh, and its index in the list of that.
class PlanIndex {
public:
  explicit PlanIndex(const Plan &plan);

  /// None if the plan has no such action.
  std::optional<int64_t> find(int64_t stage, int64_t microbatch,
                              ActionKind kind) const;
  /// The place of a unit of a program; its stage must be known.
  std::optional<int64_t> findPlace(const WorkItem &item) const;
  /// The mesh of a stage.
  std::optional<int64_t> findMesh(int64_t stage) const;
  /// Whether the plan wants this backward unit as a gradient of the input only,
  /// for which another mesh waits.
  bool wantsSplit(const WorkItem &item) const;
  bool hasSplit() const { return numWeights > 0; }
  int64_t getMicrobatchCount() const { return numMicrobatches; }

private:
  using Key = std::pair<std::pair<int64_t, int64_t>, int>;

  /// The stages that feed one.
  SmallVector<int64_t, 2> listBefore(int64_t stage) const;

  std::optional<meshwright::StageLinks> links; ///< Of a graph of towers.
  DenseMap<Key, int64_t> indices;
  std::map<int64_t, int64_t> meshes; // A DenseMap would reserve two stages.
  int64_t numMicrobatches = 0, numWeights = 0;
};
} // namespace

PlanIndex::PlanIndex(const Plan &plan) {
  if (!plan.graph.isChain())
    links.emplace(plan.graph, plan.graph.countStages());
  for (auto [mesh, list] : llvm::enumerate(plan.meshes))
    for (auto [index, action] : llvm::enumerate(list)) {
      int kind = static_cast<int>(action.kind);
      indices[{{action.stage, action.microbatch}, kind}] =
          static_cast<int64_t>(index);
      meshes[action.stage] = static_cast<int64_t>(mesh);
      numMicrobatches = std::max(numMicrobatches, action.microbatch + 1);
      numWeights += action.kind == ActionKind::Weight;
    }
}

std::optional<int64_t> PlanIndex::find(int64_t stage, int64_t microbatch,
                                       ActionKind kind) const {
  auto it = indices.find({{stage, microbatch}, static_cast<int>(kind)});
  if (it == indices.end())
    return std::nullopt;
  return it->second;
}

/// Twice the index, so that a weight gradient that the plan does not split off
/// has a place after its backward work.
std::optional<int64_t> PlanIndex::findPlace(const WorkItem &item) const {
  auto find = [&](ArrayRef<ActionKind> kinds) -> std::optional<int64_t> {
    for (ActionKind kind : kinds)
      if (auto index = this->find(*item.stage, item.microbatch, kind))
        return 2 * *index;
    return std::nullopt;
  };
  if (item.kind == WorkKind::Forward)
    return find({ActionKind::Forward, ActionKind::Embedding, ActionKind::Head});
  std::optional<int64_t> whole =
      find({ActionKind::Backward, ActionKind::EmbeddingBackward,
            ActionKind::HeadBackward});
  if (whole)
    return *whole + (item.kind == WorkKind::Weight);
  return find(item.kind == WorkKind::Weight ? ActionKind::Weight
                                            : ActionKind::Input);
}

std::optional<int64_t> PlanIndex::findMesh(int64_t stage) const {
  auto it = meshes.find(stage);
  if (it == meshes.end())
    return std::nullopt;
  return it->second;
}

SmallVector<int64_t, 2> PlanIndex::listBefore(int64_t stage) const {
  if (links)
    return links->before[stage];
  return {stage - 1};
}

bool PlanIndex::wantsSplit(const WorkItem &item) const {
  return item.kind == WorkKind::Backward &&
         find(*item.stage, item.microbatch, ActionKind::Input) &&
         llvm::any_of(listBefore(*item.stage), [&](int64_t before) {
           return find(before, item.microbatch, ActionKind::Forward) &&
                  findMesh(before) != findMesh(*item.stage);
         });
}

/// Without stages, each mesh has one: its index. False, with a unit of each
/// kind in the arguments, if some have a stage and some not.
static bool completeStages(MutableArrayRef<MeshUnits> meshes, FragmentOp &with,
                           FragmentOp &without) {
  bool someHave = false, someLack = false;
  for (const MeshUnits &mesh : meshes) {
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items))
      (item.stage ? with : without) = fragment;
    for (const WorkItem &item : mesh.items)
      (item.stage ? someHave : someLack) = true;
  }
  if (someHave && someLack)
    return false;
  if (!someHave)
    for (MeshUnits &mesh : meshes)
      for (WorkItem &item : mesh.items)
        item.stage = mesh.mesh.index;
  return true;
}

static LogicalResult completeStages(StringRef schedule,
                                    MutableArrayRef<MeshUnits> meshes) {
  FragmentOp with, without;
  if (completeStages(meshes, with, without))
    return success();
  InFlightDiagnostic diag = without.emitError()
                            << "has no stage, but other fragments do; schedule "
                            << schedule << " needs a stage on all or none";
  diag.attachNote(with.getLoc()) << "this one has a stage";
  return diag;
}

/// Stages without work leave numbers out, so that the largest one counts.
static PlanShape getShape(const ScheduleOption &option,
                          ArrayRef<MeshUnits> meshes) {
  PlanShape shape{0, 0, 1, option.sequenceChunks};
  int64_t lastStage = 0;
  for (const MeshUnits &mesh : meshes) {
    shape.meshes += mesh.isInPipeline();
    std::set<int64_t> stages;
    for (const WorkItem &item : mesh.items) {
      stages.insert(*item.stage);
      lastStage = std::max(lastStage, *item.stage);
      shape.microbatches = std::max(shape.microbatches, item.microbatch + 1);
    }
    shape.chunks = std::max(shape.chunks, static_cast<int64_t>(stages.size()));
  }
  if (shape.meshes == 0 || !option.schedule)
    return shape;
  if (!option.graph.isChain()) {
    shape.graph = option.graph;
    return shape;
  }
  // A number beyond what the schedule can have is no stage of it.
  int64_t numbered = lastStage / shape.meshes + 1;
  if (numbered <= option.schedule->mostChunks)
    shape.chunks = std::max(shape.chunks, numbered);
  return shape;
}

/// Each unit must be in the plan, on the mesh it is on.
static LogicalResult checkPlaces(const PlanIndex &index, StringRef schedule,
                                 ArrayRef<MeshUnits> meshes) {
  SmallVector<StringRef> names;
  for (const MeshUnits &mesh : meshes)
    if (mesh.isInPipeline())
      names.push_back(mesh.meshName);
  for (const MeshUnits &mesh : meshes)
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items)) {
      std::optional<int64_t> home = index.findMesh(*item.stage);
      if (home && *home != mesh.mesh.index)
        return FragmentOp(fragment).emitError()
               << "is of stage " << *item.stage << ", which schedule "
               << schedule << " expects on mesh \"" << names[*home]
               << "\", not on \"" << mesh.meshName.getValue()
               << "\"; assign the stage to that mesh, or take another schedule";
      if (!index.findPlace(item))
        return FragmentOp(fragment).emitError()
               << "is of stage " << *item.stage << " and microbatch "
               << item.microbatch << ", for which schedule " << schedule
               << " has no place; number stages and calls from 0, or take "
                  "another schedule";
    }
  return success();
}

/// Whole backward work fills no bubbles. Where none is split at all, that is
/// hardly intended. Only what another mesh waits for is ever split, and only where
/// something else is computed: a stage may have nothing to train.
static LogicalResult checkSplit(func::FuncOp func, const PlanIndex &index,
                                StringRef schedule,
                                ArrayRef<MeshUnits> meshes) {
  if (!index.hasSplit())
    return success();
  llvm::MapVector<int64_t, FragmentOp> wholeStages;
  bool isAnySplit = false;
  for (const MeshUnits &mesh : meshes)
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items)) {
      isAnySplit |= item.kind == WorkKind::Weight;
      if (index.wantsSplit(item) && !isSplitFragment(fragment) &&
          hasTwoHalves(fragment))
        wholeStages.try_emplace(*item.stage, fragment);
    }
  if (wholeStages.empty())
    return success();
  if (!isAnySplit)
    return func.emitError()
           << "schedule " << schedule
           << " fills bubbles with the gradients of weights, but no backward "
              "fragment is split; split them (mpmd-split-bwd-fragments, option "
              "mpmd_split_bwd_fragments) or take a schedule that does without";
  for (auto &[stage, fragment] : wholeStages)
    fragment.emitWarning()
        << describeUnit(fragment) << " is not split, so schedule " << schedule
        << " cannot fill bubbles with the gradients of weights of stage "
        << stage;
  return success();
}

/// One call counter that slipped makes a plan of everything below it.
static LogicalResult checkCounters(const meshwright::Schedule &schedule,
                                   PlanShape shape,
                                   ArrayRef<MeshUnits> meshes) {
  size_t numUnits = 0;
  const WorkItem *largest = nullptr;
  FragmentOp fragmentOfLargest;
  for (const MeshUnits &mesh : meshes)
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items)) {
      ++numUnits;
      if (largest && item.microbatch <= largest->microbatch)
        continue;
      largest = &item;
      fragmentOfLargest = fragment;
    }
  // Where a chunk of a sequence is missing, the plan says so.
  if (shape.microbatches % shape.sequenceChunks != 0)
    return success();
  PlanShape least = shape;
  least.microbatches = shape.sequenceChunks;
  if (llvm::Error error = schedule.checkShape(shape)) {
    std::string text = llvm::toString(std::move(error));
    // What one microbatch cannot have either, the counter is not to blame for.
    if (llvm::Error other = schedule.checkShape(least)) {
      llvm::consumeError(std::move(other));
      return success();
    }
    return fragmentOfLargest.emitError()
           << "has call counter " << largest->microbatch << ", so there are "
           << shape.microbatches << " microbatches, but only " << numUnits
           << " scheduling units; number the calls 0, 1, 2, ... (" << text
           << ")";
  }
  return success();
}

/// A plan from a file is for one number of meshes and microbatches.
static LogicalResult checkShape(func::FuncOp func, const ScheduleOption &option,
                                const PlanIndex &index,
                                const PlanShape &shape) {
  auto numRows = static_cast<int64_t>(option.plan->meshes.size());
  if (numRows != shape.meshes)
    return func.emitError()
           << "schedule " << option.getName() << " has " << numRows
           << " rows, but the pipeline has " << shape.meshes
           << " meshes; expected a row for each";
  if (index.getMicrobatchCount() != shape.microbatches)
    return func.emitError()
           << "schedule " << option.getName() << " has "
           << index.getMicrobatchCount() << " microbatches, but the program "
           << shape.microbatches << "; expected as many";
  return success();
}

/// For a mesh whose units have a stage, or all the one of its position.
static Constraints makeConstraints(std::shared_ptr<PlanIndex> index,
                                   int64_t position) {
  Constraints constraints;
  constraints.findPlace = [=](WorkItem item) -> std::optional<Place> {
    item.stage = item.stage.value_or(position);
    return Place{0, {*index->findPlace(item)}};
  };
  return constraints;
}

FailureOr<SmallVector<Constraints>>
mlir::mpmd::getPlanConstraints(func::FuncOp func, const ScheduleOption &option,
                               const TimeSource &times, const BlockGraph &graph,
                               MutableArrayRef<MeshUnits> meshes, Plan &plan) {
  std::string name = option.getName();
  if (failed(completeStages(name, meshes)))
    return failure();
  PlanShape shape = getShape(option, meshes);
  // A function without units has nothing to be ordered.
  if (shape.microbatches == 0)
    return SmallVector<Constraints>(meshes.size());

  std::optional<RunningSums> sums;
  if (option.plan) {
    plan = *option.plan;
  } else if (failed(checkCounters(*option.schedule, shape, meshes))) {
    return failure();
  } else if (option.schedule->isSearched) {
    sums.emplace(meshes, graph);
    FailureOr<Plan> made = makeMeasuredPlan(func, meshes, shape, times, *sums);
    if (failed(made))
      return failure();
    plan = std::move(*made);
  } else {
    llvm::Expected<Plan> made = option.schedule->makePlan(shape);
    if (!made)
      return func.emitError() << llvm::toString(made.takeError());
    plan = std::move(*made);
  }
  auto index = std::make_shared<PlanIndex>(plan);
  if (option.plan && failed(checkShape(func, option, *index, shape)))
    return failure();
  if (failed(checkPlaces(*index, name, meshes)) ||
      failed(checkSplit(func, *index, name, meshes)))
    return failure();
  if (sums && sums->areMicrobatchesFree())
    sums->reorder(
        [&](const WorkItem &item) { return *index->findPlace(item); });
  return llvm::map_to_vector(meshes, [&](const MeshUnits &mesh) {
    return makeConstraints(index, mesh.mesh.index);
  });
}

std::optional<SmallVector<Constraints>>
mlir::mpmd::findPlanConstraints(const ScheduleOption &option,
                                ArrayRef<MeshUnits> meshes) {
  if (option.schedule && option.schedule->isSearched)
    return std::nullopt;
  SmallVector<MeshUnits> completed(meshes);
  FragmentOp with, without;
  if (!completeStages(completed, with, without))
    return std::nullopt;
  llvm::Expected<Plan> plan =
      option.plan ? *option.plan
                  : option.schedule->makePlan(getShape(option, completed));
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return std::nullopt;
  }
  auto index = std::make_shared<PlanIndex>(*plan);
  for (const MeshUnits &mesh : completed)
    for (const WorkItem &item : mesh.items)
      if (index->findMesh(*item.stage) != mesh.mesh.index ||
          !index->findPlace(item))
        return std::nullopt;
  SmallVector<Constraints> constraints;
  for (const MeshUnits &mesh : completed)
    constraints.push_back(makeConstraints(index, mesh.mesh.index));
  return constraints;
}
