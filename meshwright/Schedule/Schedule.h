//===- Schedule.h - Orderings of the work on one mesh -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A schedule is a relation: which of two pieces of work on one mesh must happen
// first. It says nothing about most pairs; data flow orders the rest, and where
// the two disagree data flow wins. A new schedule is a file with a relation and
// a line in Registry.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_SCHEDULE_H
#define MESHWRIGHT_SCHEDULE_SCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

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

/// The mesh that two items share.
struct MeshPosition {
  int64_t index;                 ///< Among the meshes of the pipeline, from 0.
  int64_t count;                 ///< Of the meshes of the pipeline.
  std::optional<int64_t> number; ///< The number in its name, `m3` has 3.
};

struct Schedule {
  /// True if `first` must happen before `second`. Both are on the given mesh
  /// and are different items.
  using Relation = bool (*)(const WorkItem &first, const WorkItem &second,
                            const MeshPosition &mesh);
  /// Why the schedule cannot order two items, if it cannot.
  using Problem = std::optional<std::string> (*)(const WorkItem &first,
                                                 const WorkItem &second,
                                                 const MeshPosition &mesh);

  llvm::StringLiteral name;
  llvm::StringLiteral description;
  llvm::StringLiteral source; ///< The paper or project it comes from.
  Relation mustPrecede;
  Problem findProblem = nullptr;
};

/// All schedules, in the order in which they are listed to users.
llvm::ArrayRef<const Schedule *> getSchedules();

/// The schedule of that name in any case, with or without `builtin:` before
/// it; null if there is none.
const Schedule *findSchedule(llvm::StringRef name);

} // namespace meshwright

#endif
