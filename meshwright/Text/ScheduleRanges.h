//===- ScheduleRanges.h - What repeats in a schedule ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// In a pipeline the same calls come again for each microbatch, with the numbers of their
// values raised by as much each time, and orders go along the stages. Version 2 of
// schedule.json (docs/schedule-json.md) writes such a range once:
//
//   7, 8, 10, 11, 13, 14, 16, 17   ->   {"repeat": 4, "of": [[7, 3], [8, 3]]}
//
// Finding the ranges is the search for the longest tandem repeat at each place, greedy
// from the front. Candidates for the period are the distances to where the next entries
// look the same, so that the search is linear where most entries repeat or none do.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_SCHEDULERANGES_H
#define MESHWRIGHT_TEXT_SCHEDULERANGES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <vector>

namespace meshwright {

/// An entry of a list. Entries of different kinds, or with other counts of numbers, are
/// never repetitions of each other.
struct RangeEntry {
  unsigned kind = 0;
  llvm::ArrayRef<unsigned> numbers;
};

/// `length` entries of a list that are there `count` times in a row. A number is raised
/// by the same step from each time to the next.
struct Range {
  size_t first;
  size_t length;
  size_t count;
};

/// The ranges that a list consists of; what does not repeat is ranges of length and
/// count 1.
std::vector<Range> findRanges(llvm::ArrayRef<RangeEntry> entries);

/// The ranges of a list of numbers.
std::vector<Range> findRanges(llvm::ArrayRef<unsigned> numbers);

/// The items of a schedule, with what they share once: the objects of JSON take a hundred
/// times as much memory as their texts.
struct WrittenSchedule {
  struct Item {
    /// Its class in the file, which has all but its values.
    const llvm::json::Value *common;
    std::vector<int64_t> operands;
    int64_t firstResult; ///< Results are numbered one after the other.
    size_t numResults;
  };
  std::vector<Item> items;
  int64_t numValues = 0;
  /// Positions of the items of each mesh.
  std::vector<std::vector<int64_t>> ofMeshes;
};

/// What a schedule of version 2, which must outlive it, writes as ranges. Fails if what is
/// read of it here is not of that form, or has more than 4 million items or 32 million
/// numbers and values; the error says at which item.
llvm::Expected<WrittenSchedule>
writeOutSchedule(const llvm::json::Value &schedule);

} // namespace meshwright

#endif
