//===- RepeatOrder.h - The order of more microbatches -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// From a list that has something for each of a few microbatches the same for many:
//
//   F0 F1  B0 F2 B1 F3 B2 F4  B3 B4   ->   F0 F1  B0 F2 B1 F3 ... B6 F8  B7 B8
//
// What repeats with a period, some microbatches later each time, goes on for longer.
// What is before stays, and what is after belongs to later microbatches.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_REPEAT_REPEATORDER_H
#define MESHWRIGHT_PARTITIONER_REPEAT_REPEATORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace meshwright {

/// An entry of such a list: of which kind, and of which microbatch.
struct RepeatedEntry {
  static constexpr int64_t kOnce = -1; ///< It is of no microbatch.

  unsigned kind;
  int64_t microbatch;

  bool operator==(const RepeatedEntry &other) const {
    return kind == other.kind && microbatch == other.microbatch;
  }
};

/// From how many microbatches to how many, and after how many everything repeats, which
/// divides the difference.
struct RepeatCounts {
  int64_t few, many, period;

  int64_t countAdded() const { return many - few; }
  /// The microbatch among many that corresponds to one near the beginning or the end.
  int64_t move(int64_t microbatch) const {
    return 2 * microbatch < few ? microbatch : microbatch + countAdded();
  }
};

/// Continues `list`, which has kinds from 0 up to `numKinds`, each at most once for each
/// microbatch. None unless everything that most microbatches have is in a part of the
/// list that repeats at least three times.
std::optional<std::vector<RepeatedEntry>>
repeatOrder(llvm::ArrayRef<RepeatedEntry> list, unsigned numKinds,
            const RepeatCounts &counts);

using EntryVisitor = llvm::function_ref<bool(RepeatedEntry)>;

/// Visits what an entry reads, and in place of what `isPassed`, of which each kind is there
/// once, what that reads. Each that is passed counts once, however many ways lead to it.
/// Ends, and returns false, where `visit` or `forEachRead` does.
bool visitReadsThrough(
    RepeatedEntry entry,
    llvm::function_ref<bool(RepeatedEntry, EntryVisitor)> forEachRead,
    EntryVisitor isPassed, EntryVisitor visit);

} // namespace meshwright

#endif
