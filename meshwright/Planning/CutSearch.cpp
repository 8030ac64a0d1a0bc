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

/// `combine` makes a value of that of the stages before, and of a stage.
static void fill(Table &table, size_t stages, size_t layers,
                 llvm::function_ref<double(double before, size_t stage,
                                           size_t begin, size_t end)>
                     combine) {
  for (size_t stage = 0; stage < stages; ++stage)
    for (size_t end = stage + 1; end + (stages - stage - 1) <= layers; ++end)
      for (size_t begin = stage; begin < end; ++begin) {
        double before = table.at(stage, begin);
        if (before == kNever)
          continue;
        double value = combine(before, stage, begin, end);
        if (value < table.at(stage + 1, end)) {
          table.at(stage + 1, end) = value;
          table.begin(stage + 1, end) = begin;
        }
      }
}

std::vector<size_t>
meshwright::findCuts(size_t layers, size_t stages, StageMeasure measure,
                     llvm::function_ref<double(size_t)> border) {
  if (stages == 0 || stages > layers)
    return {};
  Table costliest(stages, layers);
  fill(costliest, stages, layers,
       [&](double before, size_t stage, size_t begin, size_t end) {
         return std::max(before, measure(stage, begin, end).value_or(kNever));
       });
  double limit = costliest.at(stages, layers) * kTolerance;
  if (limit == kNever)
    return {};
  Table cheapest(stages, layers);
  fill(cheapest, stages, layers,
       [&](double before, size_t stage, size_t begin, size_t end) {
         if (measure(stage, begin, end).value_or(kNever) > limit)
           return kNever;
         return before + (end < layers ? border(end) : 0);
       });
  std::vector<size_t> ends(stages);
  for (size_t stage = stages, end = layers; stage > 0; --stage) {
    ends[stage - 1] = end;
    end = cheapest.begin(stage, end);
  }
  return ends;
}
