//===- RepeatOrder.cpp - The order of more microbatches -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/RepeatOrder.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <functional>

using namespace meshwright;

namespace {
/// A part of a list in which each entry is there again, `length` entries later and a
/// period of microbatches later or earlier.
struct Window {
  size_t first, size; ///< Without the last repetition.
  size_t length;
  int64_t step;

  size_t getEnd() const { return first + size + length; }
};

class OrderRepeater {
public:
  OrderRepeater(llvm::ArrayRef<RepeatedEntry> list, unsigned numKinds,
                const RepeatCounts &counts)
      : list(list), counts(counts),
        places(numKinds, std::vector<size_t>(counts.few, list.size())),
        numOfKind(numKinds, 0), windowOfKind(numKinds) {}

  std::optional<std::vector<RepeatedEntry>> repeat();

private:
  bool index();
  /// Where the entry is that corresponds to one, `step` microbatches later.
  size_t find(RepeatedEntry entry, int64_t step) const;
  std::vector<Window> findWindows(int64_t step) const;
  bool chooseWindows();
  RepeatedEntry move(size_t place) const;

  llvm::ArrayRef<RepeatedEntry> list;
  const RepeatCounts &counts;
  std::vector<std::vector<size_t>> places; ///< By kind and microbatch.
  std::vector<int64_t> numOfKind;
  std::vector<Window> windows; ///< Those that are chosen.
  std::vector<std::optional<size_t>> windowOfKind;
};
} // namespace

bool OrderRepeater::index() {
  for (auto [place, entry] : llvm::enumerate(list)) {
    if (entry.microbatch == RepeatedEntry::kOnce)
      continue;
    if (entry.microbatch < 0 || entry.microbatch >= counts.few)
      return false;
    size_t &known = places[entry.kind][entry.microbatch];
    if (known != list.size())
      return false;
    known = place;
    ++numOfKind[entry.kind];
  }
  return true;
}

size_t OrderRepeater::find(RepeatedEntry entry, int64_t step) const {
  int64_t microbatch = entry.microbatch + step;
  if (entry.microbatch == RepeatedEntry::kOnce || microbatch < 0 ||
      microbatch >= counts.few)
    return list.size();
  return places[entry.kind][microbatch];
}

std::vector<Window> OrderRepeater::findWindows(int64_t step) const {
  std::vector<Window> found;
  for (size_t first = 0; first < list.size();) {
    auto getLength = [&](size_t place) -> size_t {
      size_t other = find(list[place], step);
      return other < list.size() && other > place ? other - place : 0;
    };
    size_t length = getLength(first), end = first + 1;
    while (length && end < list.size() && getLength(end) == length)
      ++end;
    if (length && end - first >= 2 * length)
      found.push_back({first, end - first, length, step});
    first = end;
  }
  return found;
}

/// Each kind that most microbatches have is in one window, where most are together.
bool OrderRepeater::chooseWindows() {
  std::vector<Window> found = findWindows(counts.period);
  llvm::append_range(found, findWindows(-counts.period));
  llvm::stable_sort(found, [](const Window &a, const Window &b) {
    return a.length > b.length;
  });
  for (const Window &window : found) {
    auto kinds = list.slice(window.first, window.length);
    bool isFree =
        llvm::none_of(kinds,
                      [&](RepeatedEntry entry) {
                        return windowOfKind[entry.kind].has_value();
                      }) &&
        llvm::none_of(windows, [&](const Window &other) {
          return window.first < other.getEnd() && other.first < window.getEnd();
        });
    if (!isFree)
      continue;
    for (RepeatedEntry entry : kinds)
      windowOfKind[entry.kind] = windows.size();
    windows.push_back(window);
  }
  for (auto [count, window] : llvm::zip_equal(numOfKind, windowOfKind))
    if (count >= 3 * counts.period && !window)
      return false;
  return true;
}

/// An entry of the list among those of many microbatches.
RepeatedEntry OrderRepeater::move(size_t place) const {
  RepeatedEntry entry = list[place];
  if (entry.microbatch == RepeatedEntry::kOnce)
    return entry;
  if (std::optional<size_t> number = windowOfKind[entry.kind]) {
    const Window &window = windows[*number];
    bool isAfter = place >= window.first;
    // Where microbatches fall, those before are the later ones.
    if (isAfter == (window.step > 0))
      entry.microbatch += counts.countAdded();
  } else {
    entry.microbatch = counts.move(entry.microbatch);
  }
  return entry;
}

std::optional<std::vector<RepeatedEntry>> OrderRepeater::repeat() {
  if (!index() || !chooseWindows())
    return std::nullopt;
  int64_t added = counts.countAdded(), times = added / counts.period;
  std::vector<RepeatedEntry> result;
  result.reserve(list.size() * counts.many / counts.few);
  for (size_t place = 0; place < list.size(); ++place) {
    auto window = llvm::find_if(
        windows, [&](const Window &window) { return window.first == place; });
    if (window != windows.end()) {
      // In front of the window, whose own entries follow the added ones.
      int64_t first = window->step > 0 ? 0 : added;
      for (int64_t time : llvm::seq<int64_t>(times))
        for (RepeatedEntry entry : list.slice(place, window->length)) {
          entry.microbatch += first + time * window->step;
          result.push_back(entry);
        }
    }
    result.push_back(move(place));
  }
  // Each kind has as many more, and none twice.
  std::vector<llvm::BitVector> seen(numOfKind.size());
  for (RepeatedEntry entry : result) {
    if (entry.microbatch == RepeatedEntry::kOnce)
      continue;
    llvm::BitVector &ofKind = seen[entry.kind];
    ofKind.resize(counts.many);
    if (entry.microbatch < 0 || entry.microbatch >= counts.many ||
        ofKind.test(entry.microbatch))
      return std::nullopt;
    ofKind.set(entry.microbatch);
  }
  return result;
}

std::optional<std::vector<RepeatedEntry>>
meshwright::repeatOrder(llvm::ArrayRef<RepeatedEntry> list, unsigned numKinds,
                        const RepeatCounts &counts) {
  return OrderRepeater(list, numKinds, counts).repeat();
}

bool meshwright::visitReadsThrough(
    RepeatedEntry entry,
    llvm::function_ref<bool(RepeatedEntry, EntryVisitor)> forEachRead,
    EntryVisitor isPassed, EntryVisitor visit) {
  llvm::SmallDenseSet<unsigned> passed;
  std::function<bool(RepeatedEntry)> visitReads = [&](RepeatedEntry reader) {
    return forEachRead(reader, [&](RepeatedEntry read) {
      if (!isPassed(read))
        return visit(read);
      return !passed.insert(read.kind).second || visitReads(read);
    });
  };
  return visitReads(entry);
}
