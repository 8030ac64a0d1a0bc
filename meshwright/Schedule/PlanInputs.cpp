//===- PlanInputs.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/PlanInputs.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright;

PlanInputs::PlanInputs(const Plan &plan) {
  ids.reserve(plan.countActions());
  if (!plan.graph.isChain())
    links.emplace(plan.graph, plan.graph.countStages());
  for (auto [mesh, list] : llvm::enumerate(plan.meshes))
    for (auto [index, action] : llvm::enumerate(list)) {
      ids.try_emplace(getKey(action.stage, action.microbatch, action.kind),
                      ActionId{mesh, index});
      stages.insert(action.stage);
    }
}

const ActionId *PlanInputs::find(int64_t stage, int64_t microbatch,
                                 ActionKind kind) const {
  auto it = ids.find(getKey(stage, microbatch, kind));
  return it == ids.end() ? nullptr : &it->second;
}

const ActionId *PlanInputs::findBackward(int64_t stage,
                                         int64_t microbatch) const {
  const ActionId *whole = find(stage, microbatch, ActionKind::Backward);
  return whole ? whole : find(stage, microbatch, ActionKind::Input);
}

llvm::SmallVector<int64_t, 2> PlanInputs::listBefore(int64_t stage) const {
  if (links)
    return links->before[stage];
  auto it = stages.lower_bound(stage);
  if (it == stages.begin())
    return {};
  return {*std::prev(it)};
}

llvm::SmallVector<int64_t, 2> PlanInputs::listAfter(int64_t stage) const {
  if (links)
    return links->after[stage];
  auto it = stages.upper_bound(stage);
  if (it == stages.end())
    return {};
  return {*it};
}

llvm::SmallVector<const ActionId *, 2>
PlanInputs::get(const Action &action) const {
  llvm::SmallVector<const ActionId *, 2> inputs;
  auto add = [&](const ActionId *id) {
    if (id)
      inputs.push_back(id);
  };
  switch (action.kind) {
  case ActionKind::Forward:
    for (int64_t before : listBefore(action.stage))
      add(find(before, action.microbatch, ActionKind::Forward));
    break;
  case ActionKind::Backward:
  case ActionKind::Input:
    add(find(action.stage, action.microbatch, ActionKind::Forward));
    for (int64_t after : listAfter(action.stage))
      add(findBackward(after, action.microbatch));
    break;
  case ActionKind::Weight:
    add(find(action.stage, action.microbatch, ActionKind::Input));
    break;
  }
  return inputs;
}
