//===- ActionInputs.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/ActionInputs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

using namespace meshwright;

//===----------------------------------------------------------------------===//
// Where actions are
//===----------------------------------------------------------------------===//

void ActionInputs::Work::add(int64_t microbatch, const ActionId &id) {
  if (ids.empty()) {
    first = microbatch;
    mesh = id.mesh;
  }
  if (mesh != id.mesh)
    mesh = kNone;
  if (microbatches.empty() && findPlace(microbatch) != ids.size())
    for (size_t place = 0; place < ids.size(); ++place)
      microbatches.push_back(first + static_cast<int64_t>(place));
  if (!microbatches.empty())
    microbatches.push_back(microbatch);
  ids.push_back(id);
}

bool ActionInputs::Work::sort() {
  if (microbatches.empty())
    return true;
  using Entry = std::pair<int64_t, ActionId>;
  std::vector<Entry> entries;
  entries.reserve(ids.size());
  for (auto [microbatch, id] : llvm::zip_equal(microbatches, ids))
    entries.emplace_back(microbatch, id);
  llvm::stable_sort(entries, [](const Entry &a, const Entry &b) {
    return a.first < b.first;
  });
  entries.erase(std::unique(entries.begin(), entries.end(),
                            [](const Entry &a, const Entry &b) {
                              return a.first == b.first;
                            }),
                entries.end());
  bool areDifferent = entries.size() == ids.size();
  ids.clear();
  microbatches.clear();
  for (const auto &[microbatch, id] : entries)
    add(microbatch, id);
  return areDifferent;
}

uint64_t ActionInputs::Work::findListed(int64_t microbatch) const {
  auto found = llvm::lower_bound(microbatches, microbatch);
  if (found == microbatches.end() || *found != microbatch)
    return ids.size();
  return found - microbatches.begin();
}

uint32_t ActionInputs::findWork(int64_t stage, ActionKind kind) const {
  auto found = numbers.find({stage, static_cast<int>(kind)});
  return found == numbers.end() ? kNone : found->second;
}

const ActionId *ActionInputs::find(const Action &action) const {
  uint32_t work = findWork(action.stage, action.kind);
  return work == kNone ? nullptr : works[work].find(action.microbatch);
}

uint32_t ActionInputs::add(const Action &action, const ActionId &id) {
  auto kind = static_cast<int>(action.kind);
  // Of a kind, most are of the stage of the one before.
  uint32_t &work = lastOfKind[kind];
  if (work >= works.size() || works[work].stage != action.stage ||
      works[work].kind != action.kind) {
    work =
        numbers.try_emplace({action.stage, kind}, works.size()).first->second;
    if (work == works.size())
      works.emplace_back(action.stage, action.kind);
  }
  works[work].add(action.microbatch, id);
  return work;
}

//===----------------------------------------------------------------------===//
// What they need
//===----------------------------------------------------------------------===//

/// Finds what each work needs.
class ActionInputs::Linker {
public:
  Linker(ActionInputs &inputs, const StageGraph &graph);

  void link(Work &work);

private:
  /// The stages that feed one, and those that it feeds.
  llvm::SmallVector<int64_t, 2> listBefore(int64_t stage) const;
  llvm::SmallVector<int64_t, 2> listAfter(int64_t stage) const;
  /// Adds a need, and says of which work.
  uint32_t add(Work &work, int64_t stage, ActionKind kind,
               uint32_t unless = kNone);
  void addBackward(Work &work, int64_t stage);
  void addAll(Work &work, const std::set<int64_t> &parts, ActionKind kind);

  const ActionInputs &inputs;
  std::set<int64_t> stages; ///< Those of the chain that have work.
  /// The stages that have parts of the vocabulary.
  std::set<int64_t> embeddings, heads;
  std::optional<StageLinks> links; ///< Of a graph of towers.
};

ActionInputs::Linker::Linker(ActionInputs &inputs, const StageGraph &graph)
    : inputs(inputs) {
  if (!graph.isChain())
    links.emplace(graph, graph.countStages());
  for (const Work &work : inputs.works)
    switch (work.kind) {
    case ActionKind::Forward:
    case ActionKind::Backward:
    case ActionKind::Input:
    case ActionKind::Weight:
      stages.insert(work.stage);
      break;
    case ActionKind::Embedding:
    case ActionKind::EmbeddingBackward:
      embeddings.insert(work.stage);
      break;
    case ActionKind::Head:
    case ActionKind::HeadBackward:
      heads.insert(work.stage);
      break;
    }
}

llvm::SmallVector<int64_t, 2>
ActionInputs::Linker::listBefore(int64_t stage) const {
  if (links)
    return links->before[stage];
  auto it = stages.lower_bound(stage);
  if (it == stages.begin())
    return {};
  return {*std::prev(it)};
}

llvm::SmallVector<int64_t, 2>
ActionInputs::Linker::listAfter(int64_t stage) const {
  if (links)
    return links->after[stage];
  auto it = stages.upper_bound(stage);
  if (it == stages.end())
    return {};
  return {*it};
}

uint32_t ActionInputs::Linker::add(Work &work, int64_t stage, ActionKind kind,
                                   uint32_t unless) {
  uint32_t needed = inputs.findWork(stage, kind);
  if (needed != kNone)
    work.needs.push_back({needed, unless});
  return needed;
}

/// The backward of a stage as a whole, else the half that others wait for.
void ActionInputs::Linker::addBackward(Work &work, int64_t stage) {
  uint32_t whole = add(work, stage, ActionKind::Backward);
  add(work, stage, ActionKind::Input, /*unless=*/whole);
}

void ActionInputs::Linker::addAll(Work &work, const std::set<int64_t> &parts,
                                  ActionKind kind) {
  for (int64_t stage : parts)
    add(work, stage, kind);
}

void ActionInputs::Linker::link(Work &work) {
  switch (work.kind) {
  case ActionKind::Forward:
    if (auto before = listBefore(work.stage); !before.empty())
      for (int64_t stage : before)
        add(work, stage, ActionKind::Forward);
    else
      addAll(work, embeddings, ActionKind::Embedding);
    return;
  case ActionKind::Backward:
  case ActionKind::Input:
    add(work, work.stage, ActionKind::Forward);
    if (auto after = listAfter(work.stage); !after.empty())
      for (int64_t stage : after)
        addBackward(work, stage);
    else
      addAll(work, heads, ActionKind::HeadBackward);
    return;
  case ActionKind::Weight:
    add(work, work.stage, ActionKind::Input);
    return;
  case ActionKind::Embedding:
    return;
  case ActionKind::EmbeddingBackward:
    add(work, work.stage, ActionKind::Embedding);
    if (!stages.empty())
      addBackward(work, *stages.begin());
    return;
  case ActionKind::Head:
    if (!stages.empty())
      add(work, *stages.rbegin(), ActionKind::Forward);
    return;
  case ActionKind::HeadBackward:
    addAll(work, heads, ActionKind::Head);
    return;
  }
  llvm_unreachable("unknown kind of action");
}

void ActionInputs::link(const StageGraph &graph) {
  for (Work &work : works)
    isRepeated |= !work.sort();
  Linker linker(*this, graph);
  for (Work &work : works)
    linker.link(work);
}

ActionInputs::ActionInputs(const Plan &plan) {
  for (uint32_t mesh = 0; mesh < plan.meshes.size(); ++mesh)
    for (uint32_t index = 0; index < plan.meshes[mesh].size(); ++index)
      add(plan.meshes[mesh][index], {mesh, index});
  link(plan.graph);
}

llvm::SmallVector<const ActionId *, 2>
ActionInputs::get(const Action &action) const {
  llvm::SmallVector<const ActionId *, 2> found;
  uint32_t work = findWork(action.stage, action.kind);
  if (work == kNone)
    return found;
  for (const Need &need : works[work].needs)
    if (const ActionId *id = find(need, action.microbatch))
      found.push_back(id);
  return found;
}
