//===- ActionInputs.h - What the actions of a plan need ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_ACTIONINPUTS_H
#define MESHWRIGHT_SCHEDULE_ACTIONINPUTS_H

#include "meshwright/Schedule/Plan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace meshwright {

/// An action by its place in the plan.
struct ActionId {
  uint32_t mesh;
  uint32_t index;
};

/// Finds the inputs of actions, those that the plan has; the first stage of a
/// pipeline needs none of another, but for parts of the embedding. Stages without
/// work are passed over. Refers to the plan.
class ActionInputs {
public:
  explicit ActionInputs(const Plan &plan);

  llvm::SmallVector<const ActionId *, 2> get(const Action &action) const;

  /// Where the action is, the first time; null if it is nowhere.
  const ActionId *find(const Action &action) const {
    return find(action.stage, action.microbatch, action.kind);
  }

private:
  const ActionId *find(int64_t stage, int64_t microbatch,
                       ActionKind kind) const;
  const ActionId *findBackward(int64_t stage, int64_t microbatch) const;
  /// The stages that feed one, and those that it feeds.
  llvm::SmallVector<int64_t, 2> listBefore(int64_t stage) const;
  llvm::SmallVector<int64_t, 2> listAfter(int64_t stage) const;
  const Action &getAction(const ActionId &id) const {
    return plan.meshes[id.mesh][id.index];
  }

  const Plan &plan;
  /// Of a stage and a kind, by microbatch: eight bytes an action, as plans have
  /// millions of them.
  llvm::DenseMap<std::pair<int64_t, int>, std::vector<ActionId>> ids;
  std::set<int64_t> stages; ///< Those of the chain that have work.
  /// The stages that have parts of the vocabulary.
  std::set<int64_t> embeddings, heads;
  std::optional<StageLinks> links; ///< Of a graph of towers.
};

} // namespace meshwright

#endif
