//===- ActionInputs.h - What the actions of a plan need ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Actions of one stage and kind differ in the microbatch, and so does what they need:
//
//   1F0  1F1  1F2           needs  0F0  0F1  0F2, of the same microbatch
//   0B0  0B1  0B2           needs  0F0  0F1  0F2  and  1B0  1B1  1B2
//
// They are one work here. What works need of each other is found once, and the actions of
// a work by their microbatch, at once where it has all from its first to its last.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_ACTIONINPUTS_H
#define MESHWRIGHT_SCHEDULE_ACTIONINPUTS_H

#include "meshwright/Schedule/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace meshwright {

/// An action by its place in the plan.
struct ActionId {
  uint32_t mesh;
  uint32_t index;
};

/// Finds the inputs of actions, those that the plan has; the first stage of a
/// pipeline needs none of another, but for parts of the embedding. Stages without
/// work are passed over.
class ActionInputs {
public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  /// The action of `work` with the same microbatch, if there is one, unless that of
  /// another work is there in its place.
  struct Need {
    uint32_t work;
    uint32_t unless = kNone;
  };

  /// The actions of one stage and kind.
  class Work {
  public:
    Work(int64_t stage, ActionKind kind) : stage(stage), kind(kind) {}

    int64_t stage;
    ActionKind kind;
    llvm::SmallVector<Need, 2> needs;

    /// Where the action of a microbatch is, the first time; null if it is nowhere.
    const ActionId *find(int64_t microbatch) const {
      uint64_t place = findPlace(microbatch);
      return place < ids.size() ? &ids[place] : nullptr;
    }
    /// Whether there is one.
    bool has(int64_t microbatch) const {
      return findPlace(microbatch) < ids.size();
    }
    /// The mesh of all its actions; kNone if they are on several.
    uint32_t getMesh() const { return mesh; }
    /// The first microbatch and where its action and the following ones are; none where
    /// some are left out.
    std::pair<int64_t, llvm::ArrayRef<ActionId>> getRange() const {
      return {first, microbatches.empty() ? llvm::ArrayRef(ids)
                                          : llvm::ArrayRef<ActionId>()};
    }

  private:
    friend class ActionInputs;
    void add(int64_t microbatch, const ActionId &id);
    /// Sorts by microbatch. Says whether all were different.
    bool sort();
    /// The place in `ids`; beyond all of them if a microbatch has none.
    uint64_t findPlace(int64_t microbatch) const {
      // Wraps around for those before the first.
      return microbatches.empty() ? static_cast<uint64_t>(microbatch) -
                                        static_cast<uint64_t>(first)
                                  : findListed(microbatch);
    }
    uint64_t findListed(int64_t microbatch) const;

    uint32_t mesh = kNone;
    int64_t first = 0;         ///< Microbatch.
    std::vector<ActionId> ids; ///< By microbatch.
    /// Of these; empty if they are numbered on from the first one.
    std::vector<int64_t> microbatches;
  };

  explicit ActionInputs(const Plan &plan);

  // For a plan of which the lists are not kept: each mesh is added, and then all are
  // linked as a graph says.
  ActionInputs() = default;
  /// Says which work an action is of.
  uint32_t add(const Action &action, const ActionId &id);
  void link(const StageGraph &graph);

  /// The inputs of an action that the plan has.
  llvm::SmallVector<const ActionId *, 2> get(const Action &action) const;

  /// Where the action is, the first time; null if it is nowhere.
  const ActionId *find(const Action &action) const;

  llvm::ArrayRef<Work> getWorks() const { return works; }
  /// The number of the work of a stage and kind; kNone if there is none.
  uint32_t findWork(int64_t stage, ActionKind kind) const;
  const ActionId *find(const Need &need, int64_t microbatch) const {
    if (need.unless != kNone && works[need.unless].has(microbatch))
      return nullptr;
    return works[need.work].find(microbatch);
  }
  /// Whether there is an action that this finds.
  bool has(const Need &need, int64_t microbatch) const {
    return works[need.work].has(microbatch) &&
           (need.unless == kNone || !works[need.unless].has(microbatch));
  }
  /// Whether an action is there more than once.
  bool hasRepeated() const { return isRepeated; }

private:
  class Linker;

  std::vector<Work> works;
  llvm::DenseMap<std::pair<int64_t, int>, uint32_t> numbers;
  /// The work last added to.
  std::array<uint32_t, static_cast<int>(ActionKind::HeadBackward) + 1>
      lastOfKind = {};
  bool isRepeated = false;
};

} // namespace meshwright

#endif
