//===- Constraints.h - What must run before what on one mesh ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The relation of a schedule as a few rows instead of a function over pairs, so
// that what it orders can be enumerated without asking about every pair:
//
// - sequences: each item may have a place in one, and of two in the same
//   sequence the one with the lower place runs first;
// - offsets: work of one kind runs before work of another kind that is a number of
//   microbatches later (`B(i)` before `F(i + N - m)`);
// - warm-ups: the first microbatches of one kind before all of another kind.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_CONSTRAINTS_H
#define MESHWRIGHT_SCHEDULE_CONSTRAINTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>
#include <functional>
#include <optional>

namespace meshwright {

/// Forward work, backward work (or only the gradient of the inputs, if the
/// weights' is apart), and the gradient of the weights.
enum class WorkKind { Forward, Backward, Weight };

/// A piece of work: the computation of one microbatch in one stage.
struct WorkItem {
  WorkKind kind;
  int64_t microbatch;
  std::optional<int64_t> stage;
};

/// Compared from left to right.
using PlaceKey = std::array<int64_t, 4>;

struct Place {
  int64_t sequence;
  PlaceKey key;

  bool operator==(const Place &other) const {
    return sequence == other.sequence && key == other.key;
  }
};

/// `first` work before `second` work if its microbatch is that far ahead.
struct OffsetRule {
  WorkKind first, second;
  int64_t ahead;
};

/// `first` work of microbatches below the limit before all `second` work.
struct WarmUpRule {
  WorkKind first, second;
  int64_t limit;
};

struct Constraints {
  std::function<std::optional<Place>(const WorkItem &item)> findPlace;
  llvm::SmallVector<OffsetRule> offsets;
  llvm::SmallVector<WarmUpRule> warmUps;

  /// True if `first` must happen before `second`, a different item.
  bool mustPrecede(const WorkItem &first, const WorkItem &second) const;

  /// Calls `order(before, after)` with groups of indices into `items`: each of
  /// the one must happen before each of the other. All calls together imply
  /// what `mustPrecede` says of all pairs, and nothing else. Cost: but for
  /// sorting, linear in the items and the groups.
  using Order = llvm::function_ref<void(llvm::ArrayRef<unsigned> before,
                                        llvm::ArrayRef<unsigned> after)>;
  void forEachGroup(llvm::ArrayRef<WorkItem> items, Order order) const;
};

} // namespace meshwright

#endif
