//===- Overlap.cpp - Two chains on two resources --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A device has one resource for kernels and one for collectives. Each fragment is a
// chain of steps, of which each takes one of the two for itself:
//
//   first  | ==kernels==|--exchange--|=====|
//   second |            |====kernels====|------|
//
// The scheduler of libtpu (0.0.42.1) does not take turns between two chains: in pairs of
// experts it put exchanges beside gradients of weights, and of others, one in eight.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/FragmentCost.h"
#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <array>

using namespace meshwright;

/// Loops are repeated this often at most, and steps are this many.
static constexpr double kMostRepeats = 16;
static constexpr size_t kMostSteps = 4096;

/// Makes one step of each two of a kind, as long as there are too many.
static void coarsen(std::vector<ChainStep> &steps) {
  while (steps.size() > kMostSteps) {
    size_t kept = 0;
    for (size_t i = 0; i < steps.size(); i += 4)
      for (size_t j = i; j < std::min(i + 2, steps.size()); ++j) {
        ChainStep step = steps[j];
        if (j + 2 < steps.size())
          step.seconds += steps[j + 2].seconds;
        steps[kept++] = step;
      }
    steps.resize(kept);
  }
}

void meshwright::addStep(std::vector<ChainStep> &steps, ChainStep step) {
  if (step.seconds <= 0)
    return;
  if (!steps.empty() && steps.back().isCollective == step.isCollective)
    steps.back().seconds += step.seconds;
  else
    steps.push_back(step);
}

void meshwright::addSteps(std::vector<ChainStep> &steps,
                          const std::vector<ChainStep> &repeated,
                          double times) {
  double count = std::clamp(times, 1.0, kMostRepeats);
  for (int i = 0; i < static_cast<int>(count); ++i)
    for (ChainStep step : repeated)
      addStep(steps, {step.seconds * times / static_cast<int>(count),
                      step.isCollective});
  coarsen(steps);
}

void FragmentCost::addTimes(const FragmentCost &next) {
  computeSeconds += next.computeSeconds;
  collectiveSeconds += next.collectiveSeconds;
  freeSeconds += next.freeSeconds;
  collectives.insert(collectives.end(), next.collectives.begin(),
                     next.collectives.end());
  for (ChainStep step : next.steps)
    addStep(steps, step);
}

/// Seconds of the collectives that compilers of TPUs make asynchronous.
static double sumExchanges(const FragmentCost &cost, const Device &device) {
  double seconds = 0;
  for (const Collective &collective : cost.collectives)
    if (collective.kind != CollectiveKind::AllReduce &&
        collective.kind != CollectiveKind::ReduceScatter)
      seconds += collective.count * estimateSeconds(collective, device);
  return seconds;
}

double meshwright::getHiddenSeconds(const FragmentCost &cost,
                                    const Device &device) {
  double exchanges = device.tiling ? sumExchanges(cost, device) : 0;
  return cost.freeSeconds < exchanges ? 0 : exchanges;
}

double meshwright::getOverlappedSeconds(const FragmentCost &first,
                                        const FragmentCost &second,
                                        const Device &device) {
  if (device.tiling)
    return first.getSeconds() + second.getSeconds() -
           std::min(sumExchanges(first, device) + sumExchanges(second, device),
                    first.freeSeconds + second.freeSeconds);
  std::array<llvm::ArrayRef<ChainStep>, 2> left = {first.steps, second.steps};
  std::array<double, 2> ends = {0, 0}; ///< Of the last step of each chain.
  std::array<double, 2> free = {0, 0}; ///< Of the resources.
  while (!left[0].empty() || !left[1].empty()) {
    size_t next = left[0].empty();
    double start = 0;
    for (size_t chain : {0, 1}) {
      if (left[chain].empty())
        continue;
      double possible =
          std::max(ends[chain], free[left[chain].front().isCollective]);
      if (chain == next || possible < start) {
        next = chain;
        start = possible;
      }
    }
    ChainStep step = left[next].front();
    left[next] = left[next].drop_front();
    ends[next] = free[step.isCollective] = start + step.seconds;
  }
  return std::max(ends[0], ends[1]);
}
