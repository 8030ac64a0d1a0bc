//===- CriticalPath.cpp - Why a run takes as long as it does --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/Drawing.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <tuple>

using namespace meshwright;

void Drawing::findCriticalPath() {
  if (bars.empty())
    return;
  auto last = llvm::max_element(
      bars, [](const auto &a, const auto &b) { return a.stop < b.stop; });
  uint32_t bar = last - bars.begin();
  while (true) {
    criticalPath.push_back(bar);
    llvm::ArrayRef<uint32_t> waits = getWaits(bar);
    auto latest = llvm::max_element(waits, [&](uint32_t a, uint32_t b) {
      return bars[a].stop < bars[b].stop;
    });
    if (latest == waits.end())
      break;
    bar = *latest;
  }
  std::reverse(criticalPath.begin(), criticalPath.end());
}

void Drawing::findSlack(double transfer) {
  std::vector<uint32_t> order(bars.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  // The last first. Of those without length, the ones that come later wait.
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    const Bar &x = bars[a], &y = bars[b];
    return std::make_tuple(x.stop, x.start, a) >
           std::make_tuple(y.stop, y.start, b);
  });
  for (Bar &bar : bars)
    bar.slack = makespan - bar.stop;
  for (uint32_t id : order) {
    const Bar &bar = bars[id];
    for (uint32_t wait : getWaits(id)) {
      Bar &before = bars[wait];
      double hop = before.mesh == bar.mesh ? 0 : transfer;
      before.slack =
          std::min(before.slack,
                   std::max(0., bar.start + bar.slack - hop - before.stop));
    }
  }
}
