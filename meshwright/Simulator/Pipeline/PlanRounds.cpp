//===- PlanRounds.cpp - What a plan does again and again ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/Pipeline/PlanRounds.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <algorithm>

using namespace meshwright;

/// Fewer rounds do not show that a run repeats.
static constexpr uint32_t kFewest = 8;

namespace {
/// Rounds in the list of a mesh.
class ListRounds {
public:
  ListRounds(llvm::ArrayRef<Action> list, PlanRounds::Mesh &mesh)
      : list(list), mesh(mesh) {}

  /// Finds rounds of as many microbatches; of any number if this is 0, and then sets it.
  bool find(int64_t &microbatches);
  uint32_t count() const { return (end - mesh.begin) / mesh.length; }

private:
  using Firsts = llvm::DenseMap<std::pair<int64_t, int>, std::vector<int64_t>>;
  bool isRepeated(size_t index) const;
  bool isRound(size_t begin) const;
  void extend(size_t middle);
  bool hasAll() const;
  bool listFirsts(Firsts &firsts) const;
  int64_t *findFirst(Firsts &firsts, const Action &action) const;

  llvm::ArrayRef<Action> list;
  PlanRounds::Mesh &mesh;
  int64_t shift = 0;
  uint32_t end =
      0; ///< Of the part that consists of rounds, the last one cut off.
};
} // namespace

/// Whether an action comes again a round later.
bool ListRounds::isRepeated(size_t index) const {
  const Action &action = list[index], &later = list[index + mesh.length];
  return action.stage == later.stage && action.kind == later.kind &&
         action.joinsNext == later.joinsNext &&
         action.microbatch + shift == later.microbatch;
}

bool ListRounds::isRound(size_t begin) const {
  return llvm::all_of(llvm::seq(begin, begin + mesh.length),
                      [&](size_t index) { return isRepeated(index); });
}

/// To all rounds before and after one in the middle.
void ListRounds::extend(size_t middle) {
  mesh.begin = end = middle;
  while (mesh.begin > 0 && isRepeated(mesh.begin - 1))
    --mesh.begin;
  while (end + mesh.length < list.size() && isRepeated(end))
    ++end;
  end += mesh.length;
}

int64_t *ListRounds::findFirst(Firsts &firsts, const Action &action) const {
  auto found = firsts.find({action.stage, static_cast<int>(action.kind)});
  return found == firsts.end() ? nullptr
                               : &found->second[action.microbatch % shift];
}

/// Lists the first round by stage and kind, and by microbatch modulo those of a round.
bool ListRounds::listFirsts(Firsts &firsts) const {
  if (shift > mesh.length)
    return false;
  for (const Action &action : list.slice(mesh.begin, mesh.length)) {
    auto [entry, isNew] =
        firsts.try_emplace({action.stage, static_cast<int>(action.kind)});
    if (isNew)
      entry->second.assign(shift, -1);
    int64_t &first = entry->second[action.microbatch % shift];
    if (first >= 0)
      return false;
    first = action.microbatch;
  }
  return firsts.size() * shift == mesh.length;
}

/// Whether a round has all that the mesh does, and the order keeps that of microbatches.
bool ListRounds::hasAll() const {
  Firsts firsts;
  if (!listFirsts(firsts))
    return false;
  return llvm::all_of(list.take_front(mesh.begin),
                      [&](const Action &action) {
                        int64_t *first = findFirst(firsts, action);
                        return first && action.microbatch < *first;
                      }) &&
         llvm::all_of(list.drop_front(end), [&](const Action &action) {
           int64_t *first = findFirst(firsts, action);
           return first && action.microbatch >= *first + count() * shift;
         });
}

bool ListRounds::find(int64_t &microbatches) {
  size_t middle = list.size() / 2;
  for (mesh.length = 1; 2 * kFewest * mesh.length <= list.size();
       ++mesh.length) {
    shift = list[middle + mesh.length].microbatch - list[middle].microbatch;
    if (shift <= 0 || (microbatches > 0 && shift != microbatches) ||
        !isRound(middle))
      continue;
    microbatches = shift;
    extend(middle);
    return hasAll();
  }
  return false;
}

std::optional<PlanRounds> PlanRounds::find(const Plan &plan) {
  PlanRounds rounds;
  rounds.meshes.resize(plan.meshes.size());
  for (auto [list, mesh] : llvm::zip(plan.meshes, rounds.meshes)) {
    if (list.empty())
      continue;
    ListRounds ofList(list, mesh);
    if (!ofList.find(rounds.microbatches))
      return std::nullopt;
    rounds.count = rounds.count == 0 ? ofList.count()
                                     : std::min(rounds.count, ofList.count());
  }
  if (rounds.count == 0)
    return std::nullopt;
  return rounds;
}

bool PlanRounds::shorten(Plan &plan) {
  // Runs of pipelines mostly repeat after as many microbatches as there are meshes.
  auto wave = std::max<uint32_t>(1, meshes.size() / microbatches);
  uint32_t kept = kFewest + wave + count / 32;
  removed = count > kept ? (count - kept) / wave * wave : 0;
  size_t numRemoved = 0;
  for (const Mesh &mesh : meshes)
    numRemoved += size_t(removed) * mesh.length;
  if (2 * numRemoved < plan.countActions())
    return false;
  for (auto [list, mesh] : llvm::zip(plan.meshes, meshes)) {
    auto begin = list.begin() + mesh.begin;
    list.erase(begin, begin + size_t(removed) * mesh.length);
    list.shrink_to_fit();
    for (Action &action : llvm::MutableArrayRef(list).drop_front(mesh.begin))
      action.microbatch -= removed * microbatches;
  }
  return true;
}

void PlanRounds::lengthen(Plan &plan) const {
  for (auto [list, mesh] : llvm::zip(plan.meshes, meshes)) {
    ActionList longer(list.begin(), list.begin() + mesh.begin);
    longer.reserve(list.size() + size_t(removed) * mesh.length);
    auto add = [&](llvm::ArrayRef<Action> actions, uint32_t round) {
      for (Action action : actions) {
        action.microbatch += round * microbatches;
        longer.push_back(action);
      }
    };
    llvm::ArrayRef<Action> rest = llvm::ArrayRef(list).drop_front(mesh.begin);
    for (uint32_t round = 0; round < removed; ++round)
      add(rest.take_front(mesh.length), round);
    add(rest, removed);
    list = std::move(longer);
  }
}
