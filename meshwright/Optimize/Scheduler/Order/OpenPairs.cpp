//===- OpenPairs.cpp - Pairs that nothing orders yet ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// When it is the turn of a unit, paths from it lead back along constraints that it
// has on earlier units, among these, and then after it, where there is nothing
// but data flow. So a search among the ops up to the unit finds by which edges
// paths leave them, and for what is after there are tables: what each op
// reaches by data flow, and, as constraints of a chain go to all units of a higher
// rank, what those reach that are after the unit. For the latter, units have
// their turns from last to first.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/Order/OpenPairs.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

OpenPairs::OpenPairs(const BlockGraph &graph, const UnitConstraints &units,
                     const ConsistentOrder &order)
    : graph(graph), units(units), order(order), readers(graph.getReaders()),
      successors(order.edges, graph.size()), found(graph.size()),
      left(graph.size()), constrained(units.getUnits().size()),
      lowestRanks(units.getChains().size(), kNone) {}

static void unite(MutableArrayRef<uint64_t> set, ArrayRef<uint64_t> more) {
  for (auto [word, added] : llvm::zip_equal(set, more))
    word |= added;
}

void OpenPairs::findRows(unsigned mesh) {
  this->mesh = mesh;
  numWords = (units.getUnitsOf(mesh).size() + 63) / 64;
  reached.resize(numWords);
  rows.assign(graph.size() * numWords, 0);
  for (unsigned node = graph.size(); node-- > 0;) {
    unsigned unit = units.getUnitAt(node);
    if (unit != kNone && units.getUnits()[unit].mesh == mesh) {
      unsigned index = units.getUnits()[unit].index;
      getRow(node)[index / 64] |= uint64_t(1) << (index % 64);
    }
    for (unsigned reader : readers[node])
      unite(getRow(node), getRow(reader));
  }
  suffixStarts.clear();
  size_t size = 0;
  for (unsigned lastRank : units.getChains()) {
    suffixStarts.push_back(size);
    size += lastRank * numWords;
  }
  suffixes.assign(size, 0);
}

void OpenPairs::addToSuffixes(unsigned unit) {
  const OrderedUnit &ordered = units.getUnits()[unit];
  if (ordered.chain == kNone)
    return;
  unsigned lastRank = units.getChains()[ordered.chain];
  for (unsigned place = lastRank - ordered.rank + 1; place <= lastRank;
       place += place & -place)
    unite(Words(suffixes).slice(
              suffixStarts[ordered.chain] + (place - 1) * numWords, numWords),
          getRow(ordered.position));
}

/// Of higher ranks than this one.
void OpenPairs::addSuffix(unsigned chain, unsigned rank) {
  for (unsigned place = units.getChains()[chain] - rank; place > 0;
       place &= place - 1)
    unite(reached, Words(suffixes).slice(
                       suffixStarts[chain] + (place - 1) * numWords, numWords));
}

/// An op after the unit whose turn it is.
void OpenPairs::reach(unsigned node) {
  if (left[node] == search)
    return;
  left[node] = search;
  unite(reached, getRow(node));
}

/// A path has come to `unit`, which had its turn before `first`.
void OpenPairs::addExits(unsigned unit, unsigned first) {
  const OrderedUnit &ordered = units.getUnits()[unit];
  if (ordered.chain != kNone) {
    unsigned &lowest = lowestRanks[ordered.chain];
    if (lowest == kNone)
      chains.push_back(ordered.chain);
    lowest = std::min(lowest, ordered.rank);
  }
  units.forEachAfter(unit, [&](ArrayRef<unsigned> group) {
    for (unsigned other : group)
      if (other > first)
        reach(units.getUnits()[other].position);
  });
}

void OpenPairs::findReached(unsigned first) {
  llvm::fill(reached, 0);
  unsigned end = units.getUnits()[first].position;
  SmallVector<unsigned> stack = {end};
  found[end] = search;
  auto enter = [&](unsigned node) {
    if (found[node] == search)
      return;
    found[node] = search;
    stack.push_back(node);
  };
  while (!stack.empty()) {
    unsigned node = stack.pop_back_val();
    for (unsigned reader : readers[node])
      reader > end ? reach(reader) : enter(reader);
    for (unsigned successor : successors[node])
      if (successor < end)
        enter(successor);
    unsigned unit = units.getUnitAt(node);
    if (unit != kNone && unit != first)
      addExits(unit, first);
  }
  for (unsigned chain : chains)
    addSuffix(chain, std::exchange(lowestRanks[chain], kNone));
  chains.clear();
}

/// Whether what is required of a pair is met, and not the other way round.
bool OpenPairs::isMet(unsigned first, unsigned earlier) const {
  if (units.isOfLowerRank(first, earlier))
    return order.placeInChain[first] < order.placeInChain[earlier];
  return !llvm::is_contained(order.needed[first], earlier);
}

void OpenPairs::visitPairsOf(unsigned first, bool isAll, Visitor visit) {
  ArrayRef<unsigned> ofMesh = units.getUnitsOf(mesh);
  unsigned index = units.getUnits()[first].index;
  ++search;
  units.forEachAfter(first, [&](ArrayRef<unsigned> group) {
    for (unsigned other : group)
      constrained[other] = search;
  });
  for (unsigned earlier : ofMesh.take_front(index))
    if (isRequired(first, earlier) && isMet(first, earlier))
      visit(first, earlier);
  findReached(first);
  for (unsigned i = index + 1; i < ofMesh.size(); ++i) {
    unsigned later = ofMesh[i];
    if (reached[i / 64] >> (i % 64) & 1)
      continue;
    bool mustPrecede = isRequired(first, later);
    if (mustPrecede || isAll)
      visit(first, later);
    if (mustPrecede)
      unite(reached, getRow(units.getUnits()[later].position));
  }
}

void OpenPairs::visit(unsigned mesh, bool isAll, Visitor visit) {
  findRows(mesh);
  for (unsigned unit = units.getUnits().size(); unit-- > 0;) {
    if (units.getUnits()[unit].mesh == mesh)
      visitPairsOf(unit, isAll, visit);
    addToSuffixes(unit);
  }
}

void OpenPairs::visitRequired(unsigned mesh, Visitor visit) {
  this->visit(mesh, /*isAll=*/false, visit);
}

void OpenPairs::visitAll(unsigned mesh, Visitor visit) {
  this->visit(mesh, /*isAll=*/true, visit);
}
