//===- Finalists.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/Finalists.h"
#include "meshwright/Text/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <utility>

using namespace meshwright;

static bool isShorter(const Layout &a, const Layout &b) {
  return a.seconds < b.seconds;
}

void meshwright::addFinalist(std::vector<Layout> &finalists,
                             const Layout &layout) {
  finalists.insert(llvm::upper_bound(finalists, layout, isShorter), layout);
  if (finalists.size() > kMostFinalists)
    finalists.pop_back();
}

void meshwright::rankFinalists(std::vector<Layout> finalists,
                               PlanResult &result) {
  llvm::stable_sort(finalists, isShorter);
  result.best = std::move(finalists.front());
  finalists.erase(finalists.begin());
  result.others = std::move(finalists);
}

llvm::Error meshwright::makeTooLargeError(const PlanInputs &inputs,
                                          const std::optional<Layout> &least) {
  if (!least)
    return llvm::createStringError(
        "no schedule has a plan for these numbers of meshes, stages and "
        "microbatches; name other schedules or numbers of microbatches");
  return llvm::createStringError(llvm::formatv(
      "no plan fits into {0} on each of {1} devices; the smallest memory with "
      "which one does is {2} ({3} bytes): {4}; take more devices, or a smaller "
      "microbatch",
      toScaled(inputs.memory, "B"), inputs.devices,
      toScaled(least->peakBytes, "B"),
      static_cast<int64_t>(std::ceil(least->peakBytes)), describe(*least)));
}

llvm::Error meshwright::makeNoOrderError() {
  return llvm::createStringError(
      "the search for a schedule does not support that many stages and "
      "microbatches; take fewer, or another schedule");
}
