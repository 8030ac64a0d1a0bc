//===- Schedule.h - Orderings of the work on one mesh -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A schedule says in which order the meshes of a pipeline do their work. There
// are two kinds:
//
// - a relation (`getConstraints`): facts of the form "this before that" on one
//   mesh, for any set of work. It says nothing about most pairs; data flow
//   orders the rest, and where the two disagree data flow wins;
// - a plan (`makePlan`): a complete list for each mesh, made for a number of
//   meshes, microbatches and chunks, within a limit.
//
// A relation has a plan as well, which completes it, so that it can be drawn
// and simulated. A new schedule is a file and a line in BuiltinSchedules.def.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_SCHEDULE_H
#define MESHWRIGHT_SCHEDULE_SCHEDULE_H

#include "meshwright/Schedule/Constraints.h"
#include "meshwright/Schedule/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLForwardCompat.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace meshwright {

/// The mesh that the compared items share.
struct MeshPosition {
  int64_t index;                 ///< Among the meshes of the pipeline, from 0.
  int64_t count;                 ///< Of the meshes of the pipeline.
  std::optional<int64_t> number; ///< The number in its name, `m3` has 3.
};

/// What a plan is made for.
struct PlanShape {
  int64_t meshes;
  int64_t microbatches; ///< Units, with sequences in chunks.
  int64_t chunks = 1;   ///< Stages on each mesh.
  /// Parts of the sequence of a microbatch, in which this goes forward, and in
  /// reverse order back.
  int64_t sequenceChunks = 1;
  StageGraph graph = {}; ///< Its stages, if they are no chain.

  int64_t countStages() const {
    return graph.isChain() ? meshes * chunks : graph.countStages();
  }
};

/// Which mesh has a stage, of P meshes.
enum class Placement {
  Looped, ///< Mesh s mod P.
  Folded, ///< Like a V: mesh s on the way down, mesh 2P - 1 - s on the way up.
};

/// The mesh, from 0, of a stage, of `meshes`.
int64_t placeStage(Placement placement, int64_t meshes, int64_t stage);

/// What the constraints on a mesh ask about the pipeline.
enum class PipelineNeed {
  Nothing,
  Count,    ///< The number of its meshes.
  Position, ///< Where the mesh is, so it must be a part of it.
};

inline constexpr int64_t kAnyChunks = std::numeric_limits<int64_t>::max();

/// The most actions that a plan has. More do not come from a program, but from
/// a typing error.
inline constexpr int64_t kMostActions = int64_t(1) << 22;

struct Schedule {
  using ConstraintsMaker = Constraints (*)(const MeshPosition &mesh);
  /// Fails, saying why, if the schedule does not exist for that shape.
  using PlanMaker = llvm::Expected<Plan> (*)(const PlanShape &shape);
  /// Why the schedule cannot order two items, if it cannot.
  using Problem = std::optional<std::string> (*)(const WorkItem &first,
                                                 const WorkItem &second,
                                                 const MeshPosition &mesh);

  llvm::StringLiteral name;
  /// The name in capitals, its words apart, in the registry of Python.
  llvm::StringLiteral registryName;
  llvm::StringLiteral description;
  llvm::StringLiteral source; ///< The paper or project it comes from.
  /// Makes the lists of a shape that `checkShape` has passed.
  PlanMaker listPlan;
  /// Null: the plan is the constraint.
  ConstraintsMaker getConstraints = nullptr;
  Problem findProblem = nullptr;
  /// Gradients of weights are apart: they fill bubbles, or follow pairs.
  bool splitsBackward = false;
  /// The number of stages on each mesh that it is usually drawn with.
  int64_t usualChunks = 1;
  int64_t fewestChunks = 1, mostChunks = 1;
  Placement placement = Placement::Looped;
  PipelineNeed need = PipelineNeed::Position;
  /// A sum of gradients, merged into backward work, contradicts the plan: this
  /// runs the microbatches backwards, or the sum goes to a copy of the stage.
  bool needsSumsApart = false;
  /// Its plan depends on the times of the stages and the memory limit of the meshes.
  bool isSearched = false;
  /// The first stage runs its backward work from the last microbatch to the
  /// first, so that sums of gradients are best taken in that order.
  bool backwardRunsLastFirst = false;
  /// Knows sequences in chunks.
  bool takesSequenceChunks = false;
  bool takesTowers = false; ///< Knows graphs of stages.

  /// This one, but for a member.
  template <typename T>
  constexpr Schedule with(T Schedule::*member,
                          llvm::type_identity_t<T> value) const {
    Schedule changed = *this;
    changed.*member = value;
    return changed;
  }
  constexpr Schedule withChunks(int64_t usual, int64_t fewest,
                                int64_t most) const {
    return with(&Schedule::usualChunks, usual)
        .with(&Schedule::fewestChunks, fewest)
        .with(&Schedule::mostChunks, most);
  }

  /// Fails unless meshes and microbatches are positive, each mesh has a number
  /// of stages that the schedule can have, and the actions are within the
  /// limit.
  llvm::Error checkShape(const PlanShape &shape) const;
  /// The list of each mesh. Fails, saying why, if there is none for that shape.
  llvm::Expected<Plan> makePlan(const PlanShape &shape) const;
  /// The mesh of each stage. Fails if the schedule has no place for that many.
  llvm::Expected<std::vector<int64_t>> placeStages(int64_t meshes,
                                                   int64_t stages) const;
};

/// All schedules, in the order in which they are listed to users.
llvm::ArrayRef<const Schedule *> getSchedules();

/// The schedule of that name in any case, with or without `builtin:` before
/// it; null if there is none.
const Schedule *findSchedule(llvm::StringRef name);

/// A schedule by its name, into how many chunks it cuts sequences, and its towers.
struct NamedSchedule {
  const Schedule *schedule;
  int64_t sequenceChunks = 1;
  StageGraph graph = {};
};

/// Reads `NAME` or, for schedules that know sequences in chunks, `NAME:CHUNKS`, and
/// for those that know graphs of stages `NAME:TOWERS`.
llvm::Expected<NamedSchedule> parseScheduleName(llvm::StringRef text);

/// The end of a message about a name that no schedule has: lists the names,
/// and the nearest if it is close enough to be a typing error.
std::string listSchedules(llvm::StringRef unknown);

} // namespace meshwright

#endif
