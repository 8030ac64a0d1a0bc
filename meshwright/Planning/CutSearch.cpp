//===- CutSearch.cpp - Where to cut a line of layers ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Dynamic programming over (stages so far, layers so far), twice: first for the
// smallest possible costliest stage, then for the cheapest cuts among those
// that keep to it.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/CutSearch.h"
#include <algorithm>
#include <limits>

using namespace meshwright;

static constexpr double kNever = std::numeric_limits<double>::infinity();
/// Sums of different order are not equal to the last digit.
static constexpr double kTolerance = 1 + 1e-12;

namespace {
/// The best value for the first layers in the first stages, and where the last
/// of these stages begins.
struct Table {
  Table(size_t stages, size_t layers)
      : width(layers + 1), values((stages + 1) * width, kNever),
        begins(values.size(), 0) {
    values[0] = 0;
  }
  double &at(size_t stage, size_t end) { return values[stage * width + end]; }
  size_t &begin(size_t stage, size_t end) {
    return begins[stage * width + end];
  }
  size_t width;
  std::vector<double> values;
  std::vector<size_t> begins;
};
} // namespace

/// Visits all stages that there may be: by their end, the shortest first. Those
/// with the same end that are longer are left out if `visit` returns false.
static void forEachStage(
    size_t stages, size_t layers,
    llvm::function_ref<bool(size_t stage, size_t begin, size_t end)> visit) {
  for (size_t stage = 0; stage < stages; ++stage) {
    size_t left = stages - stage - 1;
    size_t first = left == 0 ? layers : stage + 1;
    for (size_t end = first; end + left <= layers; ++end)
      for (size_t begin = stage == 0 ? 1 : end;
           begin-- > stage && visit(stage, begin, end);)
        ;
  }
}

/// The least that the costliest stage may cost.
static double findLimit(size_t layers, size_t stages, MeasureStage measure) {
  Table costliest(stages, layers);
  forEachStage(stages, layers, [&](size_t stage, size_t begin, size_t end) {
    StageMeasure found = measure(stage, begin, end);
    double &best = costliest.at(stage + 1, end);
    best = std::min(best, std::max(costliest.at(stage, begin),
                                   found.cost.value_or(kNever)));
    return found.least < best;
  });
  return costliest.at(stages, layers) * kTolerance;
}

std::vector<size_t>
meshwright::findCuts(size_t layers, size_t stages, MeasureStage measure,
                     llvm::function_ref<double(size_t)> border) {
  if (stages == 0 || stages > layers)
    return {};
  double limit = findLimit(layers, stages, measure);
  if (limit == kNever)
    return {};
  Table cheapest(stages, layers);
  forEachStage(stages, layers, [&](size_t stage, size_t begin, size_t end) {
    StageMeasure found = measure(stage, begin, end);
    if (found.least > limit)
      return false;
    double before = cheapest.at(stage, begin);
    if (before == kNever || found.cost.value_or(kNever) > limit)
      return true;
    double value = before + (end < layers ? border(end) : 0);
    // Of equal ones, the longest last stage.
    if (value <= cheapest.at(stage + 1, end)) {
      cheapest.at(stage + 1, end) = value;
      cheapest.begin(stage + 1, end) = begin;
    }
    return true;
  });
  std::vector<size_t> ends(stages);
  for (size_t stage = stages, end = layers; stage > 0; --stage) {
    ends[stage - 1] = end;
    end = cheapest.begin(stage, end);
  }
  return ends;
}
