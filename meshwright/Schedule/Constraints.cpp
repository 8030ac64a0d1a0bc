//===- Constraints.cpp - What must run before what on one mesh ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Constraints.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace meshwright;

using Group = llvm::SmallVector<unsigned, 4>;

bool Constraints::mustPrecede(const WorkItem &first,
                              const WorkItem &second) const {
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

namespace {
/// Items of one kind and microbatch.
struct Run {
  std::pair<WorkKind, int64_t> key;
  llvm::ArrayRef<unsigned> indices;
};

/// The items by kind and microbatch.
class Runs {
public:
  explicit Runs(llvm::ArrayRef<WorkItem> items);

  llvm::ArrayRef<Run> getRuns() const { return runs; }
  llvm::ArrayRef<unsigned> find(WorkKind kind, int64_t microbatch) const {
    std::pair key(kind, microbatch);
    auto run =
        llvm::lower_bound(runs, key, [](const Run &run, const auto &key) {
          return run.key < key;
        });
    if (run == runs.end() || run->key != key)
      return {};
    return run->indices;
  }

private:
  std::vector<unsigned> order;
  std::vector<Run> runs;
};
} // namespace

Runs::Runs(llvm::ArrayRef<WorkItem> items) : order(items.size()) {
  std::iota(order.begin(), order.end(), 0);
  auto getKey = [&](unsigned index) {
    return std::pair(items[index].kind, items[index].microbatch);
  };
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(getKey(a), a) < std::pair(getKey(b), b);
  });
  for (size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && getKey(order[end]) == getKey(order[first]))
      ++end;
    runs.push_back({getKey(order[first]),
                    llvm::ArrayRef(order).slice(first, end - first)});
  }
}

/// Neighbours in a sequence are enough: they imply the other pairs.
static void orderSequences(
    llvm::ArrayRef<WorkItem> items,
    const std::function<std::optional<Place>(const WorkItem &)> &find,
    Constraints::Order order) {
  using Placed = std::pair<Place, unsigned>;
  std::vector<Placed> placed;
  placed.reserve(items.size());
  for (auto [index, item] : llvm::enumerate(items))
    if (std::optional<Place> place = find(item))
      placed.emplace_back(*place, index);
  auto isBefore = [](const Placed &a, const Placed &b) {
    return std::tie(a.first.sequence, a.first.key, a.second) <
           std::tie(b.first.sequence, b.first.key, b.second);
  };
  llvm::sort(placed, isBefore);
  Group before, after;
  for (size_t first = 0, end = 0; first < placed.size(); first = end) {
    const Place &place = placed[first].first;
    if (first > 0 && placed[first - 1].first.sequence != place.sequence)
      before.clear();
    after.clear();
    for (; end < placed.size() && placed[end].first == place; ++end)
      after.push_back(placed[end].second);
    if (!before.empty())
      order(before, after);
    std::swap(before, after);
  }
}

static void orderWarmUp(llvm::ArrayRef<WorkItem> items, const WarmUpRule &rule,
                        Constraints::Order order) {
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

void Constraints::forEachGroup(llvm::ArrayRef<WorkItem> items,
                               Order order) const {
  if (findPlace)
    orderSequences(items, findPlace, order);
  if (!offsets.empty()) {
    Runs runs(items);
    for (const Run &run : runs.getRuns())
      for (const OffsetRule &rule : offsets) {
        if (run.key.first != rule.first)
          continue;
        auto after = runs.find(rule.second, run.key.second - rule.ahead);
        if (!after.empty())
          order(run.indices, after);
      }
  }
  for (const WarmUpRule &rule : warmUps)
    orderWarmUp(items, rule, order);
}
