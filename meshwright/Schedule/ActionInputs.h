//===- ActionInputs.h - What the actions of a plan need ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_ACTIONINPUTS_H
#define MESHWRIGHT_SCHEDULE_ACTIONINPUTS_H

#include "meshwright/Schedule/Plan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <set>

namespace meshwright {

/// An action by its place in the plan.
struct ActionId {
  size_t mesh;
  size_t index;
};

/// Finds the inputs of actions, those that the plan has; the first stage of a
/// pipeline needs none of another, but for parts of the embedding. Stages without
/// work are passed over.
class ActionInputs {
public:
  explicit ActionInputs(const Plan &plan);

  llvm::SmallVector<const ActionId *, 2> get(const Action &action) const;

  /// Where the action is, the first time; null if it is nowhere.
  const ActionId *find(const Action &action) const {
    return find(action.stage, action.microbatch, action.kind);
  }

private:
  using Key = std::pair<std::pair<int64_t, int64_t>, int>;
  static Key getKey(int64_t stage, int64_t microbatch, ActionKind kind) {
    return {{stage, microbatch}, static_cast<int>(kind)};
  }

  const ActionId *find(int64_t stage, int64_t microbatch,
                       ActionKind kind) const;
  const ActionId *findBackward(int64_t stage, int64_t microbatch) const;
  /// The stages that feed one, and those that it feeds.
  llvm::SmallVector<int64_t, 2> listBefore(int64_t stage) const;
  llvm::SmallVector<int64_t, 2> listAfter(int64_t stage) const;

  llvm::DenseMap<Key, ActionId> ids;
  std::set<int64_t> stages; ///< Those of the chain that have work.
  /// The stages that have parts of the vocabulary.
  std::set<int64_t> embeddings, heads;
  std::optional<StageLinks> links; ///< Of a graph of towers.
};

} // namespace meshwright

#endif
