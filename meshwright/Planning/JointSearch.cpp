//===- JointSearch.cpp - Cuts, placement and order together ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/JointSearch.h"
#include "meshwright/Planning/CutSearch.h"
#include "meshwright/Planning/StagePlaces.h"
#include "meshwright/Schedule/Search/BeamSearch.h"
#include "meshwright/Schedule/Search/LowerBound.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace meshwright;

/// Stages of a mesh: more make more transfers, and gain next to nothing.
static constexpr int64_t kMostStagesPerMesh = 4;
/// Microbatches for each mesh of the pipelines that are compared; the others take as
/// long as the busiest mesh does.
static constexpr int64_t kSampledPerMesh = 2;
/// Orders that are built side by side to compare two layouts.
static constexpr size_t kNarrow = 4;
/// Layouts whose bound is looked at, and whose order is searched, for each shape.
static constexpr int64_t kMostBounds = 12000, kMostOrders = 160;
/// Of the best bounds, how many are ordered, and of these, how many in full.
static constexpr size_t kMostOrdered = 4, kMostInFull = 2;
/// Of the neighbours of a layout, how many are ordered: those of the best bounds.
static constexpr size_t kMostNeighbours = 16;
/// What evenness counts beside the bound, which sees the busiest mesh alone.
static constexpr double kEvenness = 0.01;

namespace {
/// A layout with what it takes at least, or in an order; the less the better.
struct Point {
  StagePlaces places;
  double score = 0;
};

class JointSearch {
public:
  JointSearch(const PlanInputs &inputs, const StageCosts &costs,
              const Layout &shape)
      : inputs(inputs), costs(costs), shape(shape),
        sampled(std::min(shape.microbatches, kSampledPerMesh * shape.meshes)) {}

  std::optional<Layout> run(llvm::ArrayRef<Layout> starts);

private:
  using Measure = double (JointSearch::*)(const StagePlaces &) const;

  Layout makeLayout(const StagePlaces &places) const;
  UnitTimes getTimes(const Layout &layout) const {
    return makeUnitTimes(costs, layout,
                         double(inputs.devices) > inputs.device.domain);
  }
  /// Seconds of each mesh for a microbatch, and at the end of a step.
  std::vector<StageCost> sumMeshes(const Layout &layout) const;
  /// What the microbatches take that are not sampled.
  double getRest(llvm::ArrayRef<StageCost> meshes) const;
  double findBound(const StagePlaces &places) const;
  double findOrder(const StagePlaces &places) const;

  void addUsualStarts(std::vector<Point> &points) const;
  void climbBounds(Point &point);
  void climbOrders(Point &point);
  std::optional<Layout> finish(const StagePlaces &places) const;

  const PlanInputs &inputs;
  const StageCosts &costs;
  Layout shape;
  int64_t sampled;
  int64_t bounds = 0, orders = 0;
};
} // namespace

static constexpr double kNoOrder = std::numeric_limits<double>::infinity();

Layout JointSearch::makeLayout(const StagePlaces &places) const {
  Layout layout = shape;
  layout.ends = places.ends;
  layout.placement = places.placement;
  layout.chunks = 1;
  for (int64_t mesh = 0; mesh < layout.meshes; ++mesh)
    layout.chunks =
        std::max<int64_t>(layout.chunks, llvm::count(layout.placement, mesh));
  return layout;
}

std::vector<StageCost> JointSearch::sumMeshes(const Layout &layout) const {
  std::vector<StageCost> meshes(layout.meshes);
  for (auto [stage, mesh] :
       llvm::zip_equal(getStages(costs, layout), layout.placement)) {
    meshes[mesh].forward += stage.forward;
    meshes[mesh].backward += stage.backward;
    meshes[mesh].stepEnd += stage.stepEnd;
  }
  return meshes;
}

double JointSearch::getRest(llvm::ArrayRef<StageCost> meshes) const {
  double busiest = 0;
  for (const StageCost &mesh : meshes)
    busiest = std::max(busiest, mesh.getTime());
  return busiest * double(shape.microbatches - sampled);
}

/// Where memory is short, by how much comes first.
double JointSearch::findBound(const StagePlaces &places) const {
  Layout layout = makeLayout(places);
  std::vector<StageCost> meshes = sumMeshes(layout);
  UnitTimes times = getTimes(layout);
  PipelineProblem problem = makeProblem(inputs, costs, layout, times.costs);
  problem.microbatches = sampled;
  double all = 0, squares = 0;
  for (const StageCost &mesh : meshes) {
    all += mesh.getTime();
    squares += mesh.getTime() * mesh.getTime();
  }
  double even =
      std::sqrt(squares / double(meshes.size())) * double(shape.microbatches);
  double bytes = findLeastMemory(costs, layout);
  if (bytes > inputs.memory)
    return all * double(shape.microbatches) * (1 + bytes / inputs.memory);
  double bound = double(findLowerBound(problem)) * times.unit + getRest(meshes);
  for (const StageCost &mesh : meshes)
    bound = std::max(bound, mesh.getTime() * double(shape.microbatches) +
                                mesh.stepEnd);
  return bound + kEvenness * even;
}

/// Seconds until the last mesh has run its optimizer.
double JointSearch::findOrder(const StagePlaces &places) const {
  Layout layout = makeLayout(places);
  if (findLeastMemory(costs, layout) > inputs.memory)
    return kNoOrder;
  UnitTimes times = getTimes(layout);
  PipelineProblem problem = makeProblem(inputs, costs, layout, times.costs);
  problem.microbatches = sampled;
  BeamResult found =
      searchOrders(problem, kNarrow, std::numeric_limits<int64_t>::max());
  if (!found.plan)
    return kNoOrder;
  llvm::Expected<Timeline> timeline = simulatePlan(*found.plan, times.costs);
  if (!timeline) {
    llvm::consumeError(timeline.takeError());
    return kNoOrder;
  }
  std::vector<StageCost> meshes = sumMeshes(layout);
  double last = 0;
  for (auto [intervals, mesh] : llvm::zip_equal(timeline->meshes, meshes))
    last = std::max(last,
                    double(intervals.back().stop) * times.unit + mesh.stepEnd);
  return last + getRest(meshes);
}

/// One to three stages on each mesh, looped or folded, as even as can be.
void JointSearch::addUsualStarts(std::vector<Point> &points) const {
  for (int64_t chunks : {1, 2, 3})
    for (Placement kind : {Placement::Looped, Placement::Folded}) {
      if (kind == Placement::Folded && chunks != 2)
        continue;
      PipelineProblem problem;
      problem.place({shape.meshes, shape.microbatches, chunks}, kind);
      StagePlaces places;
      places.placement = problem.placement;
      places.ends = findCuts(
          costs.getCount(), places.placement.size(),
          [&](size_t, size_t begin, size_t end) -> StageMeasure {
            double time = costs.get(begin, end).getTime();
            return {time, time};
          },
          [](size_t) { return 0.0; });
      if (!places.ends.empty() &&
          normalize(places, shape.meshes, kMostStagesPerMesh))
        points.push_back({std::move(places)});
    }
}

/// Goes on from the move after the one that helped last, so that all kinds of moves
/// have their turn.
void JointSearch::climbBounds(Point &point) {
  point.score = findBound(point.places);
  for (size_t next = 0;;) {
    std::vector<StagePlaces> neighbours =
        listNeighbours(point.places, shape.meshes, kMostStagesPerMesh);
    bool isBetter = false;
    for (size_t i = 0; i < neighbours.size() && !isBetter; ++i) {
      if (bounds++ >= kMostBounds)
        return;
      size_t at = (next + i) % neighbours.size();
      double score = findBound(neighbours[at]);
      if (score >= point.score * (1 - 1e-9))
        continue;
      point = {std::move(neighbours[at]), score};
      next = at;
      isBetter = true;
    }
    if (!isBetter)
      return;
  }
}

void JointSearch::climbOrders(Point &point) {
  point.score = findOrder(point.places);
  for (bool isBetter = true; isBetter;) {
    isBetter = false;
    std::vector<Point> neighbours;
    for (StagePlaces &places :
         listNeighbours(point.places, shape.meshes, kMostStagesPerMesh)) {
      double bound = findBound(places);
      if (bound < point.score * (1 + kEvenness))
        neighbours.push_back({std::move(places), bound});
    }
    llvm::stable_sort(neighbours, [](const Point &a, const Point &b) {
      return a.score < b.score;
    });
    for (Point &neighbour :
         llvm::MutableArrayRef(neighbours).take_front(kMostNeighbours)) {
      if (orders++ >= kMostOrders)
        return;
      neighbour.score = findOrder(neighbour.places);
      if (neighbour.score >= point.score * (1 - 1e-6))
        continue;
      point = std::move(neighbour);
      isBetter = true;
      break;
    }
  }
}

std::optional<Layout> JointSearch::finish(const StagePlaces &places) const {
  Layout layout = makeLayout(places);
  layout.schedule = findSchedule("auto");
  std::optional<Plan> made =
      makeMeasuredPlan(inputs, costs, layout, getTimes(layout).costs);
  if (!made)
    return std::nullopt;
  layout.measured = std::make_shared<const Plan>(std::move(*made));
  if (llvm::Error error =
          simulateStep(inputs, costs, *layout.measured, layout)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  return layout;
}

/// The best first, each layout once.
static void sortPoints(std::vector<Point> &points) {
  llvm::stable_sort(
      points, [](const Point &a, const Point &b) { return a.score < b.score; });
  for (size_t i = 0; i < points.size(); ++i)
    points.erase(std::remove_if(points.begin() + i + 1, points.end(),
                                [&](const Point &other) {
                                  return other.places == points[i].places;
                                }),
                 points.end());
}

std::optional<Layout> JointSearch::run(llvm::ArrayRef<Layout> starts) {
  std::vector<Point> points;
  for (const Layout &start : starts) {
    StagePlaces places{start.ends, start.placement};
    if (normalize(places, shape.meshes, kMostStagesPerMesh))
      points.push_back({std::move(places)});
  }
  std::optional<StagePlaces> first;
  if (!points.empty())
    first = points.front().places;
  addUsualStarts(points);
  if (shape.meshes > 1) {
    sortPoints(points);
    int64_t share = kMostBounds / std::max<int64_t>(1, points.size());
    for (Point &point : points) {
      bounds = kMostBounds - share;
      climbBounds(point);
    }
    sortPoints(points);
    points.resize(std::min(points.size(), kMostOrdered));
    for (Point &point : points) {
      orders = kMostOrders - kMostOrders / int64_t(points.size());
      climbOrders(point);
    }
    sortPoints(points);
  }
  points.resize(std::min(points.size(), kMostInFull));
  // Never worse than an order for the cuts of another schedule.
  if (first)
    points.push_back({*first});
  std::optional<Layout> best;
  for (const Point &point : points) {
    std::optional<Layout> found = finish(point.places);
    if (found && (!best || found->seconds < best->seconds))
      best = std::move(found);
  }
  return best;
}

std::optional<Layout> meshwright::searchJointly(const PlanInputs &inputs,
                                                const StageCosts &costs,
                                                llvm::ArrayRef<Layout> starts) {
  return JointSearch(inputs, costs, starts.front()).run(starts);
}
