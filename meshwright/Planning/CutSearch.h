//===- CutSearch.h - Where to cut a line of layers --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_CUTSEARCH_H
#define MESHWRIGHT_PLANNING_CUTSEARCH_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstddef>
#include <optional>
#include <vector>

namespace meshwright {

/// What is said of layers begin, ..., end - 1 as a stage.
struct StageMeasure {
  std::optional<double> cost; ///< None if it may not be.
  /// What these layers and any before them cost in this stage, at least.
  double least = 0;
};
using MeasureStage =
    llvm::function_ref<StageMeasure(size_t stage, size_t begin, size_t end)>;

/// Cuts a line into stages, none of them empty, so that the costliest one is as
/// cheap as possible, and of such cuts those for which `border`, a cost of a
/// cut after a given number of layers, adds up to the least. Returns where each stage
/// ends; empty if there is no way. Exact; calls `measure` for at most each stage
/// and pair of layers twice, and not for what costs too much at least.
std::vector<size_t> findCuts(size_t layers, size_t stages, MeasureStage measure,
                             llvm::function_ref<double(size_t)> border);

} // namespace meshwright

#endif
