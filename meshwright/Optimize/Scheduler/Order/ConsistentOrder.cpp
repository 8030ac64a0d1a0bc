//===- ConsistentOrder.cpp - Constraints that data flow allows ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// By definition each pair of units is asked, in program order, and what is
// required of it becomes an edge unless a path leads back. Edges out of a unit
// only lead back to those before it, so when it is its turn:
//
// - no path leads to it from a later unit, so what an earlier one required of
//   it was met: it comes after all units of lower rank;
// - what it requires of an earlier one is met unless that precedes it.
//
// So the units of a chain that had their turn are in a line, but for those of
// equal rank, and a new one has its place directly after the latest one that
// precedes it. Edges to its neighbours there imply all others. The latest one
// is the first that a search finds which takes ancestors latest first, and in
// an order that keeps to the constraints from the outset there is hardly any to be
// looked at.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/Order/ConsistentOrder.h"
#include "meshwright/Optimize/Scheduler/Order/OnlineOrder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
/// The units of a chain that had their turn.
struct Chain {
  unsigned first = kNone, last = kNone;
  /// A Fenwick tree over ranks: the latest unit of a range of them.
  std::vector<unsigned> latest;
};

class ConsistentOrderer {
public:
  ConsistentOrderer(const BlockGraph &graph, const UnitConstraints &units,
                    const OrderConstraints &constraints);

  ConsistentOrder run();

private:
  void orderUnit(unsigned unit);
  void putAfterEarlier(unsigned unit, unsigned latest);
  void dropPreceding(unsigned unit);
  void findPreceding(unsigned unit, unsigned start);
  void collectTargets(unsigned unit, unsigned start);
  void putBeforeTargets(unsigned unit);
  void insert(unsigned unit);
  void moveBefore(unsigned target);
  unsigned findLatestBelow(const OrderedUnit &unit) const;
  void updateLatest(unsigned unit);
  void countConflicts();

  const OrderedUnit &get(unsigned unit) const { return units.getUnits()[unit]; }
  OnlineOrder::Label getLabel(unsigned unit) const {
    return order.getLabel(get(unit).position);
  }
  Chain &getChain(unsigned unit) { return chains[get(unit).chain]; }
  unsigned skipUpTo(unsigned start, unsigned rank) const {
    while (start != kNone && get(start).rank <= rank)
      start = next[start];
    return start;
  }

  const UnitConstraints &units;
  OnlineOrder order;
  std::vector<Chain> chains;
  std::vector<unsigned> next, previous; ///< In the chain of a unit.
  ConsistentOrder result;

  // Of the unit whose turn it is.
  SmallVector<unsigned> partners;   ///< To be preceded, not by rank.
  SmallVector<unsigned> targets;    ///< To be preceded, and that is possible.
  unsigned latestPreceding = kNone; ///< In the chain, of higher rank.
  bool searched = false;
};
} // namespace

ConsistentOrderer::ConsistentOrderer(const BlockGraph &graph,
                                     const UnitConstraints &units,
                                     const OrderConstraints &constraints)
    : units(units), order(graph, findLikelyOrder(graph, constraints)),
      chains(units.getChains().size()), next(units.getUnits().size(), kNone),
      previous(units.getUnits().size(), kNone) {
  for (auto [chain, lastRank] : llvm::zip(chains, units.getChains()))
    chain.latest.assign(lastRank + 1, kNone);
  result.placeInChain.resize(units.getUnits().size());
  result.needed.resize(units.getUnits().size());
}

/// The latest unit of the chain with a lower rank than `unit`.
unsigned ConsistentOrderer::findLatestBelow(const OrderedUnit &unit) const {
  unsigned found = kNone;
  for (unsigned rank = unit.rank - 1; rank > 0; rank &= rank - 1) {
    unsigned latest = chains[unit.chain].latest[rank];
    if (latest != kNone &&
        (found == kNone || getLabel(found) < getLabel(latest)))
      found = latest;
  }
  return found;
}

void ConsistentOrderer::updateLatest(unsigned unit) {
  std::vector<unsigned> &latest = getChain(unit).latest;
  for (unsigned rank = get(unit).rank; rank < latest.size();
       rank += rank & -rank)
    if (latest[rank] == kNone || getLabel(latest[rank]) < getLabel(unit))
      latest[rank] = unit;
}

/// Moves the node of the last search, and keeps the chains in order: units of
/// equal rank may have changed places.
void ConsistentOrderer::moveBefore(unsigned target) {
  for (unsigned position : order.moveBefore(get(target).position)) {
    unsigned unit = units.getUnitAt(position);
    // Only units that had their turn are in their chain.
    if (unit == kNone || get(unit).chain == kNone ||
        (previous[unit] == kNone && getChain(unit).first != unit))
      continue;
    while (previous[unit] != kNone &&
           getLabel(previous[unit]) > getLabel(unit)) {
      unsigned other = previous[unit];
      Chain &chain = getChain(unit);
      unsigned before = previous[other], after = next[unit];
      (before == kNone ? chain.first : next[before]) = unit;
      (after == kNone ? chain.last : previous[after]) = other;
      previous[unit] = before;
      next[unit] = other;
      previous[other] = unit;
      next[other] = after;
      updateLatest(other);
    }
  }
}

/// `latest` is the latest unit of lower rank.
void ConsistentOrderer::putAfterEarlier(unsigned unit, unsigned latest) {
  SmallVector<unsigned> sources;
  for (unsigned source = latest;
       source != kNone && get(source).rank == get(latest).rank;
       source = previous[source])
    sources.push_back(source);
  units.forEachBefore(unit, [&](ArrayRef<unsigned> group) {
    for (unsigned source : group)
      if (source < unit)
        sources.push_back(source);
  });
  for (unsigned source : sources) {
    if (getLabel(source) > getLabel(unit)) {
      order.findAncestors(get(source).position, getLabel(unit),
                          [](unsigned, auto bound) { return bound; });
      moveBefore(unit);
    }
    order.addEdge(get(source).position, get(unit).position);
  }
}

/// Drops partners that precede the unit. These may do so far ahead of it, with
/// much in between that the search for the others would look at.
void ConsistentOrderer::dropPreceding(unsigned unit) {
  constexpr size_t kFew = 8;
  if (partners.size() > kFew)
    return;
  llvm::erase_if(partners, [&](unsigned partner) {
    if (!order.precedes(get(partner).position, get(unit).position))
      return false;
    result.needed[unit].push_back(partner);
    return true;
  });
}

/// Searches for all that the unit is to precede and that precedes it. In its
/// chain that begins at `start`.
void ConsistentOrderer::findPreceding(unsigned unit, unsigned start) {
  OnlineOrder::Label own = getLabel(unit), unbounded = ~OnlineOrder::Label(0);
  OnlineOrder::Label ofPartners = unbounded;
  for (unsigned partner : partners)
    if (getLabel(partner) < own)
      ofPartners = std::min(ofPartners, getLabel(partner));
  OnlineOrder::Label bound = ofPartners;
  if (start != kNone && getLabel(start) < own)
    bound = std::min(bound, getLabel(start));
  latestPreceding = kNone;
  searched = bound != unbounded;
  if (!searched)
    return;
  order.findAncestors(
      get(unit).position, bound, [&](unsigned node, auto bound) {
        unsigned found = units.getUnitAt(node);
        if (found == kNone || start == kNone || latestPreceding != kNone ||
            found > unit || get(found).chain != get(unit).chain ||
            get(found).rank <= get(unit).rank ||
            getLabel(found) < getLabel(start))
          return bound;
        latestPreceding = found;
        // Those of equal rank are in no order, so one has to see which precede.
        unsigned first = found;
        while (first != start && get(previous[first]).rank == get(found).rank)
          first = previous[first];
        return std::min(ofPartners, getLabel(first));
      });
}

void ConsistentOrderer::collectTargets(unsigned unit, unsigned start) {
  targets.clear();
  auto precedes = [&](unsigned other) {
    return searched && order.isFound(get(other).position);
  };
  for (unsigned partner : partners)
    if (precedes(partner))
      result.needed[unit].push_back(partner);
    else
      targets.push_back(partner);
  // Several rows may require the same.
  auto &needed = result.needed[unit];
  llvm::sort(needed);
  needed.erase(llvm::unique(needed), needed.end());
  if (start == kNone)
    return;
  unsigned after = start;
  if (latestPreceding != kNone) {
    unsigned rank = get(latestPreceding).rank;
    for (unsigned other = latestPreceding; get(other).rank == rank;
         other = previous[other]) {
      if (!precedes(other))
        targets.push_back(other);
      if (other == start)
        break;
    }
    after = skipUpTo(next[latestPreceding], get(unit).rank);
  }
  for (unsigned other = after;
       other != kNone && get(other).rank == get(after).rank;
       other = next[other])
    targets.push_back(other);
}

void ConsistentOrderer::putBeforeTargets(unsigned unit) {
  if (targets.empty())
    return;
  unsigned first = *llvm::min_element(targets, [&](unsigned a, unsigned b) {
    return getLabel(a) < getLabel(b);
  });
  if (getLabel(first) < getLabel(unit))
    moveBefore(first);
  for (unsigned target : targets)
    order.addEdge(get(unit).position, get(target).position);
}

/// Inserts a unit into its chain.
void ConsistentOrderer::insert(unsigned unit) {
  Chain &chain = getChain(unit);
  unsigned before = chain.last;
  for (unsigned target : targets)
    if (get(target).chain == get(unit).chain &&
        (before == kNone || getLabel(target) <= getLabel(before)))
      before = target;
  while (before != kNone && getLabel(before) > getLabel(unit))
    before = previous[before];
  unsigned after = before == kNone ? chain.first : next[before];
  previous[unit] = before;
  next[unit] = after;
  (before == kNone ? chain.first : next[before]) = unit;
  (after == kNone ? chain.last : previous[after]) = unit;
  updateLatest(unit);
}

void ConsistentOrderer::orderUnit(unsigned unit) {
  const OrderedUnit &ordered = get(unit);
  bool isInChain = ordered.chain != kNone;
  unsigned latest = isInChain ? findLatestBelow(ordered) : kNone;
  putAfterEarlier(unit, latest);

  partners.clear();
  units.forEachAfter(unit, [&](ArrayRef<unsigned> group) {
    for (unsigned partner : group)
      if (partner < unit)
        partners.push_back(partner);
  });
  dropPreceding(unit);
  unsigned start = kNone;
  if (isInChain) {
    latest = findLatestBelow(ordered);
    start =
        skipUpTo(latest == kNone ? chains[ordered.chain].first : next[latest],
                 ordered.rank);
  }
  findPreceding(unit, start);
  collectTargets(unit, start);
  putBeforeTargets(unit);
  if (isInChain)
    insert(unit);
}

void ConsistentOrderer::countConflicts() {
  for (unsigned unit = 0; unit < result.needed.size(); ++unit)
    for (unsigned other : result.needed[unit])
      if (!units.isOfLowerRank(unit, other)) // Counted by chains.
        ++result.numConflicts;
  std::vector<unsigned> counts;
  for (const Chain &chain : chains) {
    // Along the chain, how many came before of each range of ranks.
    counts.assign(chain.latest.size(), 0);
    unsigned place = 0;
    for (unsigned unit = chain.first; unit != kNone; unit = next[unit]) {
      unsigned numHigher = place;
      for (unsigned rank = get(unit).rank; rank > 0; rank &= rank - 1)
        numHigher -= counts[rank];
      for (unsigned rank = get(unit).rank; rank < counts.size();
           rank += rank & -rank)
        ++counts[rank];
      result.placeInChain[unit] = place++;
      result.numConflicts += numHigher;
    }
  }
}

ConsistentOrder ConsistentOrderer::run() {
  for (unsigned unit = 0; unit < units.getUnits().size(); ++unit)
    orderUnit(unit);
  countConflicts();
  result.edges = order.getEdges();
  return std::move(result);
}

ConsistentOrder
mlir::mpmd::findConsistentOrder(const BlockGraph &graph,
                                const UnitConstraints &units,
                                const OrderConstraints &constraints) {
  return ConsistentOrderer(graph, units, constraints).run();
}

void mlir::mpmd::forEachConflict(
    const UnitConstraints &units, const ConsistentOrder &order,
    llvm::function_ref<void(unsigned, unsigned)> visit) {
  std::vector<std::vector<unsigned>> chains(units.getChains().size());
  for (auto [unit, needed] : llvm::enumerate(order.needed)) {
    for (unsigned other : needed)
      if (!units.isOfLowerRank(unit, other))
        visit(unit, other);
    if (units.getUnits()[unit].chain != kNone)
      chains[units.getUnits()[unit].chain].push_back(unit);
  }
  for (std::vector<unsigned> &chain : chains) {
    llvm::sort(chain, [&](unsigned a, unsigned b) {
      return order.placeInChain[a] < order.placeInChain[b];
    });
    unsigned highest = 0;
    for (auto [place, unit] : llvm::enumerate(chain)) {
      unsigned rank = units.getUnits()[unit].rank;
      if (rank < highest)
        for (unsigned other : ArrayRef(chain).take_front(place))
          if (units.isOfLowerRank(unit, other))
            visit(unit, other);
      highest = std::max(highest, rank);
    }
  }
}
