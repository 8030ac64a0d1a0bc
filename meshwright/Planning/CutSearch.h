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

/// The cost of layers begin, ..., end - 1 as a stage; none if it may not be.
using StageMeasure = llvm::function_ref<std::optional<double>(
    size_t stage, size_t begin, size_t end)>;

/// Cuts a line into stages, none of them empty, so that the costliest one is as
/// cheap as possible, and of such cuts those for which `border`, a cost of a
/// cut behind so many layers, adds up to the least. Returns where each stage
/// ends; empty if there is no way. Exact; calls each measure for at most each
/// stage and pair of layers twice.
std::vector<size_t> findCuts(size_t layers, size_t stages, StageMeasure measure,
                             llvm::function_ref<double(size_t)> border);

} // namespace meshwright

#endif
