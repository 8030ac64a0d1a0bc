//===- Finalists.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/Finalists.h"
#include "llvm/ADT/STLExtras.h"
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

llvm::Error meshwright::makeNoOrderError() {
  return llvm::createStringError(
      "the search for a schedule does not support that many stages and "
      "microbatches; take fewer, or another schedule");
}
