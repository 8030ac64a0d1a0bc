//===- StepGraph.cpp - The steps of a plan, and what they read ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Pipeline/StepGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace meshwright;

bool StepGraph::canHave(const Plan &plan) {
  return llvm::all_of(plan.meshes, [](const ActionList &list) {
    return llvm::all_of(list, [](const Action &action) {
      return action.microbatch >= 0 &&
             action.microbatch <= std::numeric_limits<int32_t>::max();
    });
  });
}

StepGraph::StepGraph(Plan plan) : meshes(plan.meshes.size()) {
  for (auto [mesh, list] : llvm::enumerate(plan.meshes)) {
    addList(mesh, list);
    ActionList().swap(list);
  }
  inputs.link(plan.graph);
  linkWorks();
  sequenceChunks = plan.sequenceChunks;
  graph = std::move(plan.graph);
}

void StepGraph::addList(uint32_t mesh, llvm::ArrayRef<Action> list) {
  std::vector<Entry> &entries = meshes[mesh];
  entries.reserve(list.size());
  bool isSecond = false;
  for (const Action &action : list) {
    bool joinsNext = action.joinsNext && !isSecond;
    auto index = static_cast<uint32_t>(entries.size());
    entries.push_back({inputs.add(action, {mesh, index}), joinsNext,
                       static_cast<int32_t>(action.microbatch)});
    hasPairs |= joinsNext;
    isSecond = joinsNext;
  }
}

bool StepGraph::isImplied(const ActionInputs::Work &maker,
                          const ActionInputs::Work &reader) const {
  if (maker.getMesh() == ActionInputs::kNone ||
      maker.getMesh() != reader.getMesh())
    return false;
  auto [first, makers] = maker.getRange();
  auto [begin, list] = reader.getRange();
  // As of one range, from the same microbatch on.
  if (first != begin || makers.size() != list.size())
    return false;
  return llvm::all_of(llvm::zip_equal(makers, list), [&](const auto &both) {
    const auto &[before, after] = both;
    return before.index < getStep(after).index;
  });
}

void StepGraph::addLink(uint32_t work, Link link) {
  link.isImplied = link.isOwn && isImplied(inputs.getWorks()[link.need.work],
                                           inputs.getWorks()[work]);
  readers[link.need.work].push_back(
      {work, static_cast<uint32_t>(links[work].size()), link});
  links[work].push_back(link);
}

void StepGraph::linkWorks() {
  llvm::ArrayRef<ActionInputs::Work> works = inputs.getWorks();
  links.resize(works.size());
  readers.resize(works.size());
  for (auto [number, work] : llvm::enumerate(works)) {
    for (const ActionInputs::Need &need : work.needs) {
      bool isOwn = works[need.work].stage == work.stage;
      addLink(number, {need, isOwn,
                       isOwn && work.kind != ActionKind::Input &&
                           work.kind != ActionKind::Weight});
    }
    if (work.kind != ActionKind::Weight)
      continue;
    // The gradients of weights are made of what the forward has kept.
    uint32_t forward = inputs.findWork(work.stage, ActionKind::Forward);
    if (forward != ActionInputs::kNone)
      addLink(number, {{forward}, /*isOwn=*/true, /*isKept=*/true});
  }
}

bool StepGraph::isUniform() const {
  llvm::ArrayRef<ActionInputs::Work> works = inputs.getWorks();
  return llvm::all_of(works,
                      [&](const ActionInputs::Work &work) {
                        auto [first, ids] = work.getRange();
                        return work.getMesh() != ActionInputs::kNone &&
                               first == 0 && !ids.empty() &&
                               ids.size() ==
                                   works.front().getRange().second.size();
                      }) &&
         llvm::all_of(links, [](llvm::ArrayRef<Link> ofWork) {
           return llvm::all_of(ofWork, [](const Link &link) {
             return !link.isOwn || link.isImplied;
           });
         });
}

bool StepGraph::isComplete() const {
  if (inputs.hasRepeated())
    return false;
  return llvm::all_of(meshes, [&](llvm::ArrayRef<Entry> entries) {
    return llvm::all_of(entries, [&](const Entry &entry) {
      return inputs.getWorks()[entry.work].kind != ActionKind::Weight ||
             llvm::any_of(links[entry.work], [&](const Link &link) {
               return !link.isKept && inputs.has(link.need, entry.microbatch);
             });
    });
  });
}

Action StepGraph::getAction(const ActionId &id) const {
  const Entry &entry = getEntry(id);
  const ActionInputs::Work &work = inputs.getWorks()[entry.work];
  return {work.stage, work.kind, entry.microbatch, entry.joinsNext != 0};
}

llvm::SmallVector<Action, 2> StepGraph::getActions(const ActionId &step) const {
  llvm::SmallVector<Action, 2> actions = {getAction(step)};
  if (isPair(step))
    actions.push_back(getAction({step.mesh, step.index + 1}));
  return actions;
}

uint32_t StepGraph::countInputs(const ActionId &step, bool withImplied) const {
  uint32_t count = 0;
  for (uint32_t i = 0; i < countActions(step); ++i) {
    const Entry &entry = getEntry({step.mesh, step.index + i});
    count += llvm::count_if(links[entry.work], [&](const Link &link) {
      return (withImplied || !link.isImplied) &&
             inputs.has(link.need, entry.microbatch);
    });
  }
  return count;
}

uint32_t StepGraph::countTransfers(const ActionId &reader,
                                   size_t numLinks) const {
  const Entry &entry = getEntry(reader);
  auto read = llvm::ArrayRef(links[entry.work]).take_front(numLinks);
  return llvm::count_if(read, [&](const Link &link) {
    if (link.isOwn || !inputs.has(link.need, entry.microbatch))
      return false;
    uint32_t mesh = inputs.getWorks()[link.need.work].getMesh();
    return (mesh == ActionInputs::kNone ? find(link, entry)->mesh : mesh) !=
           reader.mesh;
  });
}

size_t StepGraph::countMostLinks() const {
  size_t most = 0;
  for (const auto &ofWork : links)
    most = std::max(most, ofWork.size());
  return most;
}

Plan StepGraph::writeOut() const {
  Plan plan;
  plan.sequenceChunks = sequenceChunks;
  plan.graph = graph;
  for (uint32_t mesh = 0; mesh < meshes.size(); ++mesh) {
    ActionList &list = plan.meshes.emplace_back();
    for (uint32_t index = 0; index < meshes[mesh].size(); ++index)
      list.push_back(getAction({mesh, index}));
  }
  return plan;
}
