//===- KeptValues.cpp - Where the values of a body are kept ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// As XLA assigns buffers: large values choose first, and each takes the smallest
// result that has room for it while the value is in use.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Temporaries/KeptValues.h"
#include "meshwright/Cost/Device.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <queue>

using namespace meshwright;

/// Results that are tried for a value, so that time stays linear.
static constexpr unsigned kMostTried = 64;

/// Removes the values that the chip has room for, in the order of the program.
static void removeOnChip(std::vector<KeptValue> &values, double room) {
  if (room <= 0)
    return;
  llvm::stable_sort(values, [](const KeptValue &a, const KeptValue &b) {
    return a.from < b.from;
  });
  auto endsLater = [](const KeptValue &a, const KeptValue &b) {
    return a.to > b.to;
  };
  std::priority_queue<KeptValue, std::vector<KeptValue>, decltype(endsLater)>
      onChip(endsLater);
  llvm::erase_if(values, [&](const KeptValue &value) {
    for (; !onChip.empty() && onChip.top().to < value.from; onChip.pop())
      room += onChip.top().bytes;
    if (value.bytes > room)
      return false;
    room -= value.bytes;
    onChip.push(value);
    return true;
  });
}

namespace {
/// The place of a result, and the values that are put there.
class Place {
public:
  explicit Place(const ResultPlace &result) : result(result) {}

  bool add(const KeptValue &value) {
    auto meets = [&](const KeptValue &other) {
      return value.from <= other.to && other.from <= value.to;
    };
    if (value.bytes > result.bytes || value.from < result.taken ||
        !endsBeforeResult(value) || llvm::any_of(values, meets))
      return false;
    values.push_back(value);
    return true;
  }
  double getBytes() const { return result.bytes; }

private:
  bool endsBeforeResult(const KeptValue &value) const {
    if (value.reader != kNoKernel && value.reader == result.writer)
      return result.isInPlace && value.bytes == result.bytes &&
             value.to <= result.from;
    return value.to < result.from;
  }

  ResultPlace result;
  std::vector<KeptValue> values;
};
} // namespace

/// Removes the values that have a place where a result will be.
static void removePlaced(std::vector<KeptValue> &values,
                         std::vector<ResultPlace> results) {
  llvm::stable_sort(results, [](const ResultPlace &a, const ResultPlace &b) {
    return a.bytes < b.bytes;
  });
  std::vector<Place> places(results.begin(), results.end());
  llvm::stable_sort(values, [](const KeptValue &a, const KeptValue &b) {
    return a.bytes > b.bytes;
  });
  llvm::erase_if(values, [&](const KeptValue &value) {
    auto large = llvm::partition_point(places, [&](const Place &place) {
      return place.getBytes() < value.bytes;
    });
    auto end = large + std::min<ptrdiff_t>(kMostTried, places.end() - large);
    return std::any_of(large, end,
                       [&](Place &place) { return place.add(value); });
  });
}

/// The most that values add up to at once, each rounded up to places that begin at
/// multiples of `alignment` bytes.
static double countMost(llvm::ArrayRef<KeptValue> values,
                        llvm::ArrayRef<KeptValue> nested, double alignment) {
  std::vector<std::pair<unsigned, double>> changes;
  auto add = [&](const KeptValue &value, double bytes) {
    changes.push_back({2 * value.from, bytes});
    changes.push_back({2 * value.to + 1, -bytes});
  };
  for (const KeptValue &value : values)
    add(value, std::ceil(value.bytes / alignment) * alignment);
  for (const KeptValue &value : nested)
    add(value, value.bytes);
  llvm::stable_sort(changes, llvm::less_first());
  double held = 0, most = 0;
  for (const auto &[at, change] : changes)
    most = std::max(most, held += change);
  return most;
}

KeptBytes meshwright::countKeptBytes(std::vector<KeptValue> values,
                                     std::vector<ResultPlace> results,
                                     llvm::ArrayRef<KeptValue> nested,
                                     const Device &device) {
  removeOnChip(values, device.onChip.value_or(0));
  removePlaced(values, std::move(results));
  return {countMost(values, nested, 1),
          countMost(values, nested, device.alignment.value_or(1))};
}
