//===- OverlapMarks.cpp - Marks what a plan overlaps ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/OverlapMarks.h"
#include "meshwright/Fragments/Overlap.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::Action;
using meshwright::ActionKind;
using meshwright::ActionList;
using meshwright::Plan;
using meshwright::WorkItem;
using meshwright::WorkKind;

bool mpmd::hasOverlaps(const Plan &plan) {
  return llvm::any_of(plan.meshes, [](const ActionList &list) {
    return llvm::any_of(list,
                        [](const Action &action) { return action.joinsNext; });
  });
}

namespace {
/// The pair of an action and its part in that, by stage, microbatch and kind.
using PairOf = DenseMap<std::pair<std::pair<int64_t, int64_t>, int>,
                        std::pair<int64_t, int64_t>>;
} // namespace

static void add(const Action &action, int64_t pair, int64_t part,
                PairOf &pairs) {
  auto set = [&](WorkKind kind) {
    pairs[{{action.stage, action.microbatch}, static_cast<int>(kind)}] = {pair,
                                                                          part};
  };
  switch (action.kind) {
  case ActionKind::Forward:
  case ActionKind::Embedding:
  case ActionKind::Head:
    return set(WorkKind::Forward);
  case ActionKind::Backward:
  case ActionKind::EmbeddingBackward:
  case ActionKind::HeadBackward:
    // The program may have split it.
    set(WorkKind::Backward);
    return set(WorkKind::Weight);
  case ActionKind::Input:
    return set(WorkKind::Backward);
  case ActionKind::Weight:
    return set(WorkKind::Weight);
  }
}

void mpmd::markOverlaps(const Plan &plan, ArrayRef<MeshUnits> meshes) {
  PairOf pairs;
  int64_t numPairs = 0;
  for (const ActionList &list : plan.meshes)
    for (size_t i = 0; i + 1 < list.size(); ++i)
      if (list[i].joinsNext) {
        add(list[i], numPairs, 0, pairs);
        add(list[i + 1], numPairs, 1, pairs);
        ++numPairs;
      }
  if (pairs.empty())
    return;
  for (const MeshUnits &mesh : meshes)
    for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items)) {
      auto it =
          pairs.find({{item.stage.value_or(mesh.mesh.index), item.microbatch},
                      static_cast<int>(item.kind)});
      if (it != pairs.end())
        fragment->setAttr(
            kOverlapAttr,
            DenseI64ArrayAttr::get(fragment->getContext(),
                                   {it->second.first, it->second.second}));
    }
}
