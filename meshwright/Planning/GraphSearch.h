//===- GraphSearch.h - Meshes for each tower of a model ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_GRAPHSEARCH_H
#define MESHWRIGHT_PLANNING_GRAPHSEARCH_H

#include "meshwright/Planning/PlanSearch.h"

namespace meshwright {

/// The same as `findLayout` for layers in towers. Each tower gets meshes of its own,
/// one stage on each; how many, and which schedule, is searched.
llvm::Expected<PlanResult> findGraphLayout(const PlanInputs &inputs);

} // namespace meshwright

#endif
