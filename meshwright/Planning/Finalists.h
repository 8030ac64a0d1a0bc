//===- Finalists.h --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The layouts of a search with the shortest steps by an estimate, until these are
// simulated: for chains of layers and for graphs of towers.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_FINALISTS_H
#define MESHWRIGHT_PLANNING_FINALISTS_H

#include "meshwright/Planning/PlanSearch.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <optional>
#include <vector>

namespace meshwright {

/// Layouts that are simulated in the end.
inline constexpr size_t kMostFinalists = 8;

/// Adds a layout if it is one of the shortest, of which the first is the shortest.
void addFinalist(std::vector<Layout> &finalists, const Layout &layout);

/// Makes the shortest of some layouts the best of a result, and the rest the others.
void rankFinalists(std::vector<Layout> finalists, PlanResult &result);

/// That no layout fits, of which `least` needs the smallest memory; none if no
/// schedule has a plan.
llvm::Error makeTooLargeError(const PlanInputs &inputs,
                              const std::optional<Layout> &least);

/// That no order was found where only searched ones are asked for.
llvm::Error makeNoOrderError();

} // namespace meshwright

#endif
