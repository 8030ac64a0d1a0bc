//===- Demands.cpp - What must run before what on one mesh ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Demands.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace meshwright;

using Group = llvm::SmallVector<unsigned, 2>;

bool Demands::mustPrecede(const WorkItem &first, const WorkItem &second) const {
  if (findPlace) {
    std::optional<Place> a = findPlace(first), b = findPlace(second);
    if (a && b && a->sequence == b->sequence && a->key < b->key)
      return true;
  }
  auto fits = [&](const auto &rule) {
    return rule.first == first.kind && rule.second == second.kind;
  };
  return llvm::any_of(offsets,
                      [&](const OffsetRule &rule) {
                        return fits(rule) && first.microbatch ==
                                                 second.microbatch + rule.ahead;
                      }) ||
         llvm::any_of(warmUps, [&](const WarmUpRule &rule) {
           return fits(rule) && first.microbatch < rule.limit;
         });
}

/// Neighbours in a sequence are enough: they imply the other pairs.
static void orderSequences(
    llvm::ArrayRef<WorkItem> items,
    const std::function<std::optional<Place>(const WorkItem &)> &find,
    Demands::Order order) {
  std::map<std::pair<int64_t, PlaceKey>, Group> groups;
  for (auto [index, item] : llvm::enumerate(items))
    if (std::optional<Place> place = find(item))
      groups[{place->sequence, place->key}].push_back(index);
  auto previous = groups.end();
  for (auto it = groups.begin(); it != groups.end(); previous = it++)
    if (previous != groups.end() && previous->first.first == it->first.first)
      order(previous->second, it->second);
}

void Demands::forEachGroup(llvm::ArrayRef<WorkItem> items, Order order) const {
  if (findPlace)
    orderSequences(items, findPlace, order);
  if (offsets.empty() && warmUps.empty())
    return;

  llvm::DenseMap<std::pair<int, int64_t>, Group> byMicrobatch;
  for (auto [index, item] : llvm::enumerate(items))
    byMicrobatch[{static_cast<int>(item.kind), item.microbatch}].push_back(
        index);
  for (const OffsetRule &rule : offsets) {
    llvm::DenseMap<int64_t, bool> done;
    for (const WorkItem &item : items) {
      if (item.kind != rule.first || !done.try_emplace(item.microbatch).second)
        continue;
      auto after = byMicrobatch.find(
          {static_cast<int>(rule.second), item.microbatch - rule.ahead});
      if (after != byMicrobatch.end())
        order(byMicrobatch.at({static_cast<int>(rule.first), item.microbatch}),
              after->second);
    }
  }
  for (const WarmUpRule &rule : warmUps) {
    Group before, after;
    for (auto [index, item] : llvm::enumerate(items)) {
      if (item.kind == rule.first && item.microbatch < rule.limit)
        before.push_back(index);
      if (item.kind == rule.second)
        after.push_back(index);
    }
    if (!before.empty() && !after.empty())
      order(before, after);
  }
}
