//===- RunningSums.cpp - Sums that go from unit to unit -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/RunningSums.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::WorkItem;

/// Calls `visit` with the operands of the fragment that are terms of a result, and of
/// nothing else.
static void forEachTerm(FragmentOp fragment, unsigned result,
                        function_ref<void(unsigned operand)> visit) {
  SmallVector<Value> terms{
      fragment.getBody()->getTerminator()->getOperand(result)};
  while (!terms.empty()) {
    Value term = terms.pop_back_val();
    if (!term.hasOneUse())
      continue;
    if (auto argument = dyn_cast<BlockArgument>(term))
      visit(argument.getArgNumber());
    else if (auto add = term.getDefiningOp<stablehlo::AddOp>())
      llvm::append_range(terms, add->getOperands());
  }
}

/// Which ops depend on a unit, or are one.
static llvm::BitVector findDependents(ArrayRef<MeshUnits> meshes,
                                      const BlockGraph &graph) {
  llvm::BitVector dependents(graph.size());
  for (const MeshUnits &mesh : meshes)
    for (unsigned position : mesh.positions)
      dependents.set(position);
  for (unsigned position = 0; position < graph.size(); ++position)
    if (llvm::any_of(graph.getProducers(position),
                     [&](unsigned producer) { return dependents[producer]; }))
      dependents.set(position);
  return dependents;
}

RunningSums::RunningSums(ArrayRef<MeshUnits> meshes, const BlockGraph &graph) {
  llvm::BitVector dependents = findDependents(meshes, graph);
  auto isOfNoUnit = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return !maker || !dependents[graph.getPosition(maker)];
  };
  for (const MeshUnits &mesh : meshes)
    addChains(mesh, isOfNoUnit);
  areFree = !findTies(meshes, graph);
}

void RunningSums::addChains(const MeshUnits &mesh,
                            function_ref<bool(Value)> isOfNoUnit) {
  DenseMap<Operation *, WorkItem> items;
  for (auto [fragment, item] : llvm::zip(mesh.fragments, mesh.items))
    items[fragment] = item;
  DenseMap<Value, size_t> chainOf; // By the sum at its end.
  for (FragmentOp fragment : mesh.fragments) {
    WorkItem item = items.lookup(fragment);
    for (OpResult sum : fragment->getResults()) {
      // The sum of another microbatch, or else what none has made.
      std::optional<size_t> chain;
      std::optional<unsigned> first, next;
      forEachTerm(fragment, sum.getResultNumber(), [&](unsigned operand) {
        Value before = fragment->getOperand(operand);
        if (before.getType() != sum.getType())
          return;
        if (isOfNoUnit(before)) {
          first = operand;
          return;
        }
        auto known = chainOf.find(before);
        if (known == chainOf.end() || !before.hasOneUse())
          return;
        const WorkItem &maker = items[before.getDefiningOp()];
        if (maker.kind != item.kind || maker.stage != item.stage ||
            maker.microbatch == item.microbatch)
          return;
        chain = known->second;
        next = operand;
      });
      if (!chain && !first)
        continue;
      if (!chain) {
        chain = chains.size();
        chains.emplace_back();
        next = first;
      }
      chains[*chain].push_back({fragment, item, *next, sum.getResultNumber()});
      chainOf[sum] = *chain;
    }
  }
}

/// What each op depends on: no unit, those of one microbatch, or of several.
bool RunningSums::findTies(ArrayRef<MeshUnits> meshes,
                           const BlockGraph &graph) const {
  constexpr int64_t kNoMicrobatch = -1, kSeveral = -2;
  std::vector<int64_t> own(graph.size(), kNoMicrobatch);
  for (const MeshUnits &mesh : meshes)
    for (auto [position, item] : llvm::zip(mesh.positions, mesh.items))
      own[position] = item.microbatch;
  // How often a unit reads a sum of the one before.
  DenseMap<std::pair<unsigned, unsigned>, unsigned> numSums;
  for (const Chain &chain : chains)
    for (size_t i = 1; i < chain.size(); ++i)
      ++numSums[{graph.getPosition(chain[i - 1].fragment),
                 graph.getPosition(chain[i].fragment)}];
  std::vector<int64_t> origins(graph.size(), kNoMicrobatch);
  for (unsigned position = 0; position < graph.size(); ++position) {
    int64_t &origin = origins[position] = own[position];
    DenseMap<unsigned, unsigned> numReads;
    for (unsigned producer : graph.getProducers(position))
      ++numReads[producer];
    for (auto [producer, count] : numReads) {
      if (numSums.lookup({producer, position}) == count ||
          origins[producer] == kNoMicrobatch || origins[producer] == origin)
        continue;
      if (own[position] != kNoMicrobatch)
        return true;
      origin = origin == kNoMicrobatch ? origins[producer] : kSeveral;
    }
  }
  return false;
}

void RunningSums::reorder(function_ref<int64_t(const WorkItem &)> getPlace) {
  for (Chain &chain : chains) {
    Chain ordered = chain;
    llvm::stable_sort(ordered, [&](const Link &a, const Link &b) {
      return getPlace(a.item) < getPlace(b.item);
    });
    Value sum = chain.front().fragment->getOperand(chain.front().operand);
    Value whole = chain.back().fragment->getResult(chain.back().result);
    Value last = ordered.back().fragment->getResult(ordered.back().result);
    // What reads it are no units of the chain: these read the others.
    if (whole != last)
      whole.replaceAllUsesWith(last);
    for (const Link &link : ordered) {
      link.fragment->setOperand(link.operand, sum);
      sum = link.fragment->getResult(link.result);
    }
    chain = std::move(ordered);
  }
}
