//===- MeasuredPlan.cpp - A plan for the work of a program ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/MeasuredPlan.h"
#include "meshwright/Cost/Flops.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Schedule/Search/SearchedPlan.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <map>
#include <set>

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::ActionCosts;
using meshwright::PipelineProblem;
using meshwright::WorkItem;
using meshwright::WorkKind;

/// The longest action in units of time: fine enough for any difference that
/// matters, and far from an overflow.
static constexpr double kLongestAction = 1000;

/// Transfers may be far longer than all work, and are added up as well. As long
/// as in a file of times.
static constexpr double kLongestTransfer = int64_t(1) << 32;

namespace {
/// The work of one microbatch in a stage.
struct BucketWork {
  std::optional<double> forward, backward, weight;
  double exchanging = 0; ///< In collectives, of all of these.

  /// Of the forward and all of the backward as an overlapped pair: kernels and
  /// collectives are two resources.
  double getPairTime() const {
    double first = forward.value_or(0);
    double second = backward.value_or(0) + weight.value_or(0);
    return std::max({first + second - exchanging, exchanging, first, second});
  }
};

struct StageWork {
  std::optional<int64_t> mesh;
  FragmentOp fragment;
  bool isSplit = false;
  SmallVector<BucketWork, 1> buckets; ///< Microbatches of one are alike.
};

/// Those of the stages that have units, in order: some may be empty.
class StageNumbers {
public:
  explicit StageNumbers(const std::set<int64_t> &present)
      : numbers(present.begin(), present.end()) {}

  size_t size() const { return numbers.size(); }
  int64_t getNumber(size_t index) const { return numbers[index]; }
  size_t getIndex(int64_t number) const {
    return llvm::lower_bound(numbers, number) - numbers.begin();
  }

private:
  SmallVector<int64_t> numbers;
};
} // namespace

using Estimate = function_ref<FailureOr<UnitSeconds>(FragmentOp)>;

/// Of the microbatches of a bucket, the first one seen of a kind represents all.
static LogicalResult collectWork(ArrayRef<MeshUnits> meshes, Estimate estimate,
                                 const StageNumbers &numbers,
                                 ArrayRef<size_t> bucketOf,
                                 SmallVectorImpl<StageWork> &stages) {
  for (const MeshUnits &mesh :
       llvm::make_filter_range(meshes, std::mem_fn(&MeshUnits::isInPipeline)))
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items)) {
      StageWork &stage =
          stages[numbers.getIndex(item.stage.value_or(mesh.mesh.index))];
      stage.isSplit |= item.kind == WorkKind::Weight;
      BucketWork &bucket = stage.buckets[bucketOf[item.microbatch]];
      std::optional<double> &work =
          item.kind == WorkKind::Forward    ? bucket.forward
          : item.kind == WorkKind::Backward ? bucket.backward
                                            : bucket.weight;
      if (work)
        continue;
      FailureOr<UnitSeconds> found = estimate(fragment);
      if (failed(found))
        return failure();
      work = found->all;
      bucket.exchanging += found->exchanging;
    }
  return success();
}

/// Finds the mesh of each stage.
static LogicalResult collectPlaces(ArrayRef<MeshUnits> meshes,
                                   const StageNumbers &numbers,
                                   SmallVectorImpl<StageWork> &stages) {
  for (const MeshUnits &mesh : meshes)
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items)) {
      StageWork &stage = stages[numbers.getIndex(*item.stage)];
      if (stage.mesh && *stage.mesh != mesh.mesh.index) {
        InFlightDiagnostic diag = FragmentOp(fragment).emitError()
                                  << "is of stage " << *item.stage
                                  << ", which is on several meshes; schedule "
                                     "auto needs each stage on one";
        diag.attachNote(stage.fragment.getLoc())
            << "this one is on mesh \"" << stage.fragment.getMeshName() << "\"";
        return diag;
      }
      stage.mesh = mesh.mesh.index;
      stage.fragment = fragment;
    }
  return success();
}

static PipelineProblem makeProblem(ArrayRef<StageWork> stages,
                                   double transfer) {
  double most = 0;
  for (const StageWork &stage : stages)
    for (const BucketWork &bucket : stage.buckets)
      for (auto &work : {bucket.forward, bucket.backward, bucket.weight})
        most = std::max(most, meshwright::saturate(work.value_or(0)));
  auto scale = [&](double work, double longest) -> int64_t {
    if (most == 0)
      return 0;
    double relative = meshwright::saturate(work) / most * kLongestAction;
    return std::llround(std::min(relative, longest));
  };
  auto toTime = [&](std::optional<double> work) {
    return std::max<int64_t>(1, scale(work.value_or(0), kLongestAction));
  };
  PipelineProblem problem;
  problem.costs.transfer = scale(transfer, kLongestTransfer);
  problem.costs.buckets.resize(stages.front().buckets.size());
  for (const StageWork &stage : stages) {
    for (auto [bucket, work] :
         llvm::zip_equal(problem.costs.buckets, stage.buckets)) {
      ActionCosts &costs = bucket.stages.emplace_back();
      costs.forward = toTime(work.forward);
      costs.input = toTime(work.backward);
      costs.weight = toTime(work.weight);
      costs.backward = stage.isSplit ? costs.input + costs.weight : costs.input;
      if (work.exchanging > 0)
        costs.overlapped =
            std::max<int64_t>(1, scale(work.getPairTime(), 3 * kLongestAction));
    }
    problem.splits.push_back(stage.isSplit);
    problem.placement.push_back(*stage.mesh);
  }
  problem.costs.stages = problem.costs.buckets.front().stages;
  return problem;
}

/// The types of what a unit sends to other units of its microbatch.
static void collectSent(FragmentOp unit, int64_t microbatch,
                        std::set<const void *> &types) {
  for (OpResult result : unit->getResults())
    for (Operation *user : result.getUsers()) {
      auto transfer = dyn_cast<TransferOp>(user);
      if (!transfer)
        continue;
      for (Operation *reader : transfer->getUsers()) {
        auto fragment = dyn_cast<FragmentOp>(reader);
        if (fragment && isSchedulingUnit(fragment) &&
            getCallCounter(fragment) == microbatch)
          types.insert(cast<MeshTensorType>(result.getType())
                           .getRankedTensorType()
                           .getAsOpaquePointer());
      }
    }
}

/// The bucket of each microbatch, numbered as they come: those are in one whose units
/// send values of the same types to other meshes, such as activations of sequences of
/// one length. What a first or last microbatch does besides makes no difference.
static std::vector<size_t> findBuckets(ArrayRef<MeshUnits> meshes,
                                       int64_t microbatches) {
  std::vector<std::set<const void *>> sent(microbatches);
  for (const MeshUnits &mesh : meshes)
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items))
      collectSent(fragment, item.microbatch, sent[item.microbatch]);
  std::map<std::set<const void *>, size_t> known;
  std::vector<size_t> buckets;
  for (std::set<const void *> &types : sent)
    buckets.push_back(
        known.try_emplace(std::move(types), known.size()).first->second);
  return buckets;
}

/// Which microbatches may come in another order because they differ. Where something
/// else than sums goes from one to the next, they keep their order, and the first one
/// represents all.
static std::vector<size_t> findFreeBuckets(ArrayRef<MeshUnits> meshes,
                                           int64_t microbatches,
                                           const RunningSums &sums) {
  std::vector<size_t> buckets = findBuckets(meshes, microbatches);
  if (!sums.areMicrobatchesFree())
    buckets.assign(microbatches, 0);
  return buckets;
}

/// Fills in what stages take, by floating point work.
static LogicalResult countWork(func::FuncOp func, ArrayRef<MeshUnits> meshes,
                               const TimeSource &source,
                               const StageNumbers &numbers,
                               ArrayRef<size_t> bucketOf,
                               SmallVectorImpl<StageWork> &stages) {
  llvm::Expected<meshwright::CustomCosts> customs =
      meshwright::parseCostList(source.customCosts);
  if (!customs)
    return func.emitError()
           << "mpmd_custom_costs: " << llvm::toString(customs.takeError());
  meshwright::WorkEstimator works(func->getParentOp(), std::move(*customs));
  LogicalResult result = collectWork(
      meshes,
      [&](FragmentOp fragment) -> FailureOr<UnitSeconds> {
        meshwright::Work work = works.estimate(fragment.getRegion());
        return UnitSeconds{work.flops + meshwright::kPerTranscendental *
                                            work.transcendentals};
      },
      numbers, bucketOf, stages);
  warnOfUncounted(func, works.getUncounted());
  return result;
}

/// The same by seconds; also what the longest transfer takes.
static LogicalResult measureWork(func::FuncOp func, const TimeSource &source,
                                 const StageNumbers &numbers,
                                 ArrayRef<size_t> bucketOf,
                                 SmallVectorImpl<StageWork> &stages,
                                 double &transfer) {
  FailureOr<std::unique_ptr<TimedProgram>> program =
      TimedProgram::make(func, source);
  if (failed(program))
    return failure();
  if (failed(collectWork(
          (*program)->getUnits(),
          [&](FragmentOp fragment) { return (*program)->measure(fragment); },
          numbers, bucketOf, stages)))
    return failure();
  transfer = (*program)->findLongestTransfer();
  return (*program)->reportUnknown();
}

/// Where the order has a forward and then a backward of another microbatch, they may
/// overlap; whether they gain by that is decided when their collectives are known.
static void pairNeighbours(meshwright::Plan &plan) {
  for (meshwright::ActionList &list : plan.meshes)
    for (size_t i = 0; i + 1 < list.size(); ++i) {
      meshwright::Action &first = list[i];
      const meshwright::Action &second = list[i + 1];
      if (first.kind != meshwright::ActionKind::Forward ||
          second.kind == meshwright::ActionKind::Forward ||
          second.kind == meshwright::ActionKind::Weight ||
          first.microbatch == second.microbatch)
        continue;
      first.joinsNext = true;
      ++i;
    }
}

/// What each mesh may keep, of this many stages.
static LogicalResult readMostLive(func::FuncOp func, const TimeSource &source,
                                  const meshwright::PlanShape &shape,
                                  int64_t stages,
                                  std::vector<int64_t> &mostLive) {
  if (shape.graph.isChain())
    mostLive.assign(shape.meshes, std::max(getUsualLimit(shape), stages));
  else
    mostLive = getUsualLimits(shape.graph);
  if (source.memory.empty())
    return success();
  SmallVector<StringRef> texts;
  StringRef(source.memory).split(texts, ',');
  if (texts.size() != 1 && texts.size() != mostLive.size())
    return func.emitError()
           << "mpmd_schedule_memory has " << texts.size()
           << " numbers, but the pipeline has " << mostLive.size()
           << " meshes; give one for each, or one for all";
  for (auto [mesh, most] : llvm::enumerate(mostLive)) {
    StringRef text = texts[texts.size() == 1 ? 0 : mesh].trim();
    if (text.getAsInteger(10, most) || most < 1)
      return func.emitError() << "mpmd_schedule_memory: expected a whole "
                                 "number of 1 or more, got '"
                              << text << "'";
  }
  return success();
}

FailureOr<meshwright::Plan>
mlir::mpmd::makeMeasuredPlan(func::FuncOp func, ArrayRef<MeshUnits> meshes,
                             const meshwright::PlanShape &shape,
                             const TimeSource &source,
                             const RunningSums &sums) {
  std::set<int64_t> present;
  for (const MeshUnits &mesh : meshes)
    for (const WorkItem &item : mesh.items) {
      if (*item.stage < 0 || *item.stage >= meshwright::kMostActions)
        return func.emitError() << "has a unit of stage " << *item.stage
                                << "; schedule auto needs stages from 0, below "
                                << meshwright::kMostActions;
      present.insert(*item.stage);
    }
  StageNumbers numbers(present);
  int64_t lastStage = present.empty() ? -1 : *present.rbegin();
  auto numStages = static_cast<int64_t>(numbers.size());
  if (!shape.graph.isChain() &&
      (numStages != lastStage + 1 || shape.graph.countStages() != numStages))
    return func.emitError()
           << "has stages 0 to " << lastStage << ", but the towers of the "
           << "schedule have " << shape.graph.countStages()
           << "; give each stage of the program a tower";
  std::vector<size_t> bucketOf =
      findFreeBuckets(meshes, shape.microbatches, sums);
  StageWork empty;
  empty.buckets.resize(1 + *llvm::max_element(bucketOf));
  SmallVector<StageWork> stages(numbers.size(), empty);
  if (failed(collectPlaces(meshes, numbers, stages)))
    return failure();
  double transfer = 0;
  if (failed(
          source.isInSeconds()
              ? measureWork(func, source, numbers, bucketOf, stages, transfer)
              : countWork(func, meshes, source, numbers, bucketOf, stages)))
    return failure();
  PipelineProblem problem = makeProblem(stages, transfer);
  problem.microbatches = shape.microbatches;
  problem.costs.bucketOf = std::move(bucketOf);
  if (!shape.graph.isChain())
    problem.graph = shape.graph;
  if (failed(readMostLive(func, source, shape, numStages, problem.mostLive)))
    return failure();
  llvm::Expected<meshwright::SearchedPlan> made =
      meshwright::searchPlan(std::move(problem));
  if (!made)
    return func.emitError() << llvm::toString(made.takeError());
  for (meshwright::ActionList &list : made->plan.meshes)
    for (meshwright::Action &action : list)
      action.stage = numbers.getNumber(action.stage);
  pairNeighbours(made->plan);
  return std::move(made->plan);
}
