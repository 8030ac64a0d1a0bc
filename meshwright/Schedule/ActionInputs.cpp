//===- ActionInputs.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/ActionInputs.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace meshwright;

ActionInputs::ActionInputs(const Plan &plan) : plan(plan) {
  if (!plan.graph.isChain())
    links.emplace(plan.graph, plan.graph.countStages());
  for (auto [mesh, list] : llvm::enumerate(plan.meshes))
    for (auto [index, action] : llvm::enumerate(list))
      ids[{action.stage, static_cast<int>(action.kind)}].push_back(
          {static_cast<uint32_t>(mesh), static_cast<uint32_t>(index)});
  auto isBefore = [&](const ActionId &a, const ActionId &b) {
    return getAction(a).microbatch < getAction(b).microbatch;
  };
  auto isSame = [&](const ActionId &a, const ActionId &b) {
    return getAction(a).microbatch == getAction(b).microbatch;
  };
  for (auto &[key, list] : ids) {
    if (!llvm::is_sorted(list, isBefore))
      llvm::stable_sort(list, isBefore);
    list.erase(std::unique(list.begin(), list.end(), isSame), list.end());
    switch (static_cast<ActionKind>(key.second)) {
    case ActionKind::Forward:
    case ActionKind::Backward:
    case ActionKind::Input:
    case ActionKind::Weight:
      stages.insert(key.first);
      break;
    case ActionKind::Embedding:
    case ActionKind::EmbeddingBackward:
      embeddings.insert(key.first);
      break;
    case ActionKind::Head:
    case ActionKind::HeadBackward:
      heads.insert(key.first);
      break;
    }
  }
}

const ActionId *ActionInputs::find(int64_t stage, int64_t microbatch,
                                   ActionKind kind) const {
  auto it = ids.find({stage, static_cast<int>(kind)});
  if (it == ids.end())
    return nullptr;
  llvm::ArrayRef<ActionId> list = it->second;
  auto getMicrobatch = [&](const ActionId &id) {
    return getAction(id).microbatch;
  };
  // Nearly always there is one for each microbatch.
  uint64_t place = static_cast<uint64_t>(microbatch) -
                   static_cast<uint64_t>(getMicrobatch(list.front()));
  if (place < list.size() && getMicrobatch(list[place]) == microbatch)
    return &list[place];
  const ActionId *found =
      llvm::lower_bound(list, microbatch, [&](const ActionId &id, int64_t m) {
        return getMicrobatch(id) < m;
      });
  return found != list.end() && getMicrobatch(*found) == microbatch ? found
                                                                    : nullptr;
}

const ActionId *ActionInputs::findBackward(int64_t stage,
                                           int64_t microbatch) const {
  const ActionId *whole = find(stage, microbatch, ActionKind::Backward);
  return whole ? whole : find(stage, microbatch, ActionKind::Input);
}

llvm::SmallVector<int64_t, 2> ActionInputs::listBefore(int64_t stage) const {
  if (links)
    return links->before[stage];
  auto it = stages.lower_bound(stage);
  if (it == stages.begin())
    return {};
  return {*std::prev(it)};
}

llvm::SmallVector<int64_t, 2> ActionInputs::listAfter(int64_t stage) const {
  if (links)
    return links->after[stage];
  auto it = stages.upper_bound(stage);
  if (it == stages.end())
    return {};
  return {*it};
}

llvm::SmallVector<const ActionId *, 2>
ActionInputs::get(const Action &action) const {
  llvm::SmallVector<const ActionId *, 2> inputs;
  auto add = [&](const ActionId *id) {
    if (id)
      inputs.push_back(id);
  };
  auto addAll = [&](const std::set<int64_t> &parts, ActionKind kind) {
    for (int64_t stage : parts)
      add(find(stage, action.microbatch, kind));
  };
  switch (action.kind) {
  case ActionKind::Forward:
    if (auto before = listBefore(action.stage); !before.empty())
      for (int64_t stage : before)
        add(find(stage, action.microbatch, ActionKind::Forward));
    else
      addAll(embeddings, ActionKind::Embedding);
    break;
  case ActionKind::Backward:
  case ActionKind::Input:
    add(find(action.stage, action.microbatch, ActionKind::Forward));
    if (auto after = listAfter(action.stage); !after.empty())
      for (int64_t stage : after)
        add(findBackward(stage, action.microbatch));
    else
      addAll(heads, ActionKind::HeadBackward);
    break;
  case ActionKind::Weight:
    add(find(action.stage, action.microbatch, ActionKind::Input));
    break;
  case ActionKind::Embedding:
    break;
  case ActionKind::EmbeddingBackward:
    add(find(action.stage, action.microbatch, ActionKind::Embedding));
    if (!stages.empty())
      add(findBackward(*stages.begin(), action.microbatch));
    break;
  case ActionKind::Head:
    if (!stages.empty())
      add(find(*stages.rbegin(), action.microbatch, ActionKind::Forward));
    break;
  case ActionKind::HeadBackward:
    addAll(heads, ActionKind::Head);
    break;
  }
  return inputs;
}
