//===- ActionInputs.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/ActionInputs.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright;

ActionInputs::ActionInputs(const Plan &plan) {
  ids.reserve(plan.countActions());
  if (!plan.graph.isChain())
    links.emplace(plan.graph, plan.graph.countStages());
  for (auto [mesh, list] : llvm::enumerate(plan.meshes))
    for (auto [index, action] : llvm::enumerate(list)) {
      ids.try_emplace(getKey(action.stage, action.microbatch, action.kind),
                      ActionId{mesh, index});
      if (isInChain(action.kind))
        stages.insert(action.stage);
      else if (action.kind == ActionKind::Embedding ||
               action.kind == ActionKind::EmbeddingBackward)
        embeddings.insert(action.stage);
      else
        heads.insert(action.stage);
    }
}

const ActionId *ActionInputs::find(int64_t stage, int64_t microbatch,
                                   ActionKind kind) const {
  auto it = ids.find(getKey(stage, microbatch, kind));
  return it == ids.end() ? nullptr : &it->second;
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
