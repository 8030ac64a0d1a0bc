//===- HeldMemory.cpp - What a mesh holds over time -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/HeldMemory.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <utility>

using namespace meshwright;

void HeldMemory::hold(Ticks begin, Ticks end, int64_t bytes) {
  if (bytes == 0 || begin == end)
    return;
  begins.push_back({begin, bytes});
  ends.push_back({end, bytes});
}

void HeldMemory::findPeak(Simulation::Mesh &mesh, bool withLevels) {
  // Most often they come in order.
  auto isEarlier = [](const auto &a, const auto &b) { return a.time < b.time; };
  for (std::vector<Simulation::Level> *list : {&begins, &ends})
    if (!llvm::is_sorted(*list, isEarlier))
      llvm::sort(*list, isEarlier);
  // Values may be of shapes that no machine holds.
  __extension__ __int128 sum = 0;
  auto begin = begins.begin();
  for (auto end = ends.begin(); end != ends.end();) {
    Ticks time = end->time;
    if (begin != begins.end())
      time = std::min(time, begin->time);
    for (; begin != begins.end() && begin->time == time; ++begin)
      sum += begin->bytes;
    for (; end != ends.end() && end->time == time; ++end)
      sum -= end->bytes;
    auto bytes = static_cast<int64_t>(
        std::min<decltype(sum)>(sum, std::numeric_limits<int64_t>::max()));
    if (bytes > mesh.peakBytes) {
      mesh.peakBytes = bytes;
      mesh.peakTime = time;
    }
    if (withLevels &&
        (mesh.levels.empty() || mesh.levels.back().bytes != bytes))
      mesh.levels.push_back({time, bytes});
  }
}

std::vector<Simulation::Share>
meshwright::listShares(const llvm::StringMap<int64_t> &shares) {
  std::vector<Simulation::Share> listed;
  for (const auto &share : shares)
    listed.push_back({share.first().str(), share.second});
  llvm::sort(listed, [](const auto &a, const auto &b) {
    return std::make_pair(-a.bytes, llvm::StringRef(a.what)) <
           std::make_pair(-b.bytes, llvm::StringRef(b.what));
  });
  return listed;
}
