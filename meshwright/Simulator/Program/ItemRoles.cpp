//===- ItemRoles.cpp - Forward, backward, and of which microbatch ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Program/ItemRoles.h"
#include "meshwright/Fragments/OriginNames.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <set>

using namespace meshwright;

namespace {
class RoleFinder {
public:
  explicit RoleFinder(const ExportedProgram &program)
      : program(program), producers(program.values.size(), kNoItem),
        roles(program.items.size()),
        isBehindBackward(program.items.size(), false) {}

  std::vector<ItemRole> find();

private:
  /// A stage on a mesh, by the names of its origins.
  using StageKey = std::pair<unsigned, std::vector<std::string>>;

  static bool isForward(const ItemRole &role) {
    return role.kind == ItemKind::Forward;
  }
  static bool isBackward(const ItemRole &role) {
    return role.kind == ItemKind::Backward || role.kind == ItemKind::Weight;
  }
  StageKey getStage(const ExportedProgram::Item &item) const;
  /// The largest microbatch of what it reads, if `fits`.
  template <typename Predicate>
  int32_t findMicrobatch(const ExportedProgram::Item &item, Predicate fits);
  void addCall(uint32_t index);
  void addForward(uint32_t index);
  void addBackward(uint32_t index);
  void addTransfer(uint32_t index);

  const ExportedProgram &program;
  std::vector<uint32_t> producers; ///< Of each value.
  std::vector<ItemRole> roles;
  std::vector<bool> isBehindBackward;
  std::map<StageKey, int32_t> stages;
  std::map<StageKey, int32_t> numTaken; ///< By stages that start a pipeline.
  std::set<std::pair<StageKey, int32_t>> seenBackward;
};
} // namespace

RoleFinder::StageKey
RoleFinder::getStage(const ExportedProgram::Item &item) const {
  std::vector<std::string> names = item->originNames;
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  return {item->toMesh, std::move(names)};
}

template <typename Predicate>
int32_t RoleFinder::findMicrobatch(const ExportedProgram::Item &item,
                                   Predicate fits) {
  int32_t found = -1;
  for (unsigned value : item.operands)
    if (uint32_t producer = producers[value];
        producer != kNoItem && fits(producer))
      found = std::max(found, roles[producer].microbatch);
  return found;
}

void RoleFinder::addForward(uint32_t index) {
  const ExportedProgram::Item &item = program.items[index];
  ItemRole &role = roles[index];
  role.kind = ItemKind::Forward;
  StageKey key = getStage(item);
  role.stage = stages.try_emplace(key, static_cast<int32_t>(stages.size()))
                   .first->second;
  // A stage may hand things on to its next microbatch: the rows of the batch,
  // which the first one splits, or a state.
  role.microbatch = findMicrobatch(item, [&](uint32_t producer) {
    return roles[producer].stage != role.stage;
  });
  if (role.microbatch < 0)
    role.microbatch = numTaken[key]++;
}

void RoleFinder::addBackward(uint32_t index) {
  const ExportedProgram::Item &item = program.items[index];
  ItemRole &role = roles[index];
  role.kind = ItemKind::Backward;
  // Sums of gradients come from other microbatches, activations do not.
  role.microbatch = findMicrobatch(item, [&](uint32_t producer) {
    return isForward(roles[producer]) &&
           program.items[producer]->toMesh == item->toMesh;
  });
  if (role.microbatch < 0)
    role.microbatch = findMicrobatch(item, [](uint32_t) { return true; });
  StageKey key = getStage(item);
  if (auto stage = stages.find(key); stage != stages.end())
    role.stage = stage->second;
  if (!seenBackward.insert({std::move(key), role.microbatch}).second)
    role.kind = ItemKind::Weight;
}

void RoleFinder::addCall(uint32_t index) {
  const ExportedProgram::Item &item = program.items[index];
  // Of all microbatches, and of no stage.
  if (llvm::is_contained(item->originNames, mlir::mpmd::kHoistedOrigin))
    return;
  if (item->transposeCount > 0)
    addBackward(index);
  else if (isBehindBackward[index] && !item->isRemat)
    roles[index].kind = ItemKind::Optimizer;
  else if (!item->origins.empty())
    addForward(index);
  if (isBackward(roles[index]))
    isBehindBackward[index] = true;
}

void RoleFinder::addTransfer(uint32_t index) {
  const ExportedProgram::Item &item = program.items[index];
  ItemRole &role = roles[index];
  bool staysInMemory = program.values[item.operands.front()].memoryKind ==
                       program.values[item.results.front()].memoryKind;
  role.kind = item->fromMesh == item->toMesh && staysInMemory
                  ? ItemKind::Collective
                  : ItemKind::Transfer;
  uint32_t producer = producers[item.operands.front()];
  if (producer == kNoItem)
    return;
  role.stage = roles[producer].stage;
  role.microbatch = roles[producer].microbatch;
}

std::vector<ItemRole> RoleFinder::find() {
  for (uint32_t index = 0; index < program.items.size(); ++index) {
    const ExportedProgram::Item &item = program.items[index];
    for (unsigned value : item.operands)
      if (uint32_t producer = producers[value]; producer != kNoItem)
        isBehindBackward[index] =
            isBehindBackward[index] || isBehindBackward[producer];
    if (item->fragment)
      addCall(index);
    else
      addTransfer(index);
    for (unsigned value : item.results)
      producers[value] = index;
  }
  return std::move(roles);
}

std::vector<ItemRole> meshwright::findRoles(const ExportedProgram &program) {
  return RoleFinder(program).find();
}
