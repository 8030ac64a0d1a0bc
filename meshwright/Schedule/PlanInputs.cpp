//===- PlanInputs.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/PlanInputs.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright;

PlanInputs::PlanInputs(const Plan &plan) {
  ids.reserve(plan.countActions());
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

int64_t PlanInputs::getPrevious(int64_t stage) const {
  auto it = stages.lower_bound(stage);
  return it == stages.begin() ? -1 : *std::prev(it);
}

int64_t PlanInputs::getNext(int64_t stage) const {
  auto it = stages.upper_bound(stage);
  return it == stages.end() ? -1 : *it;
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
    add(find(getPrevious(action.stage), action.microbatch,
             ActionKind::Forward));
    break;
  case ActionKind::Backward:
  case ActionKind::Input:
    add(find(action.stage, action.microbatch, ActionKind::Forward));
    add(findBackward(getNext(action.stage), action.microbatch));
    break;
  case ActionKind::Weight:
    add(find(action.stage, action.microbatch, ActionKind::Input));
    break;
  }
  return inputs;
}
