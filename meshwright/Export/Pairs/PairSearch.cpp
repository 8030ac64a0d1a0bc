//===- PairSearch.cpp - Which pairs can be one program --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pairs/PairSearch.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Export/Pairs/TransferTimes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

static bool readsDirectly(const BlockGraph &graph, ArrayRef<unsigned> second,
                          unsigned first) {
  return llvm::any_of(second, [&](unsigned member) {
    return llvm::is_contained(graph.getProducers(member), first);
  });
}

/// Why the fragments of a pair cannot be one, or gain nothing by that; an empty text
/// if nothing is in the way.
FailureOr<std::string> PairSearch::findObstacle(const MarkedPair &pair,
                                                ArrayRef<unsigned> members) {
  for (auto [before, after] : llvm::zip(members, members.drop_front()))
    if (places[after] != places[before] + 1)
      return std::string(
          "the first is not right before the second on its mesh");
  if (readsDirectly(graph, members.drop_front(), members.front()))
    return std::string("the second reads what the first computes");
  auto ops = llvm::map_to_vector(
      members, [&](unsigned member) { return graph.getOp(member); });
  if (!effects.areAdjacent(ops))
    return std::string(
        "effects of something else come between those of the two");
  if (!onlyWithCollectives)
    return std::string();
  for (FragmentOp member : pair.getMembers()) {
    FailureOr<bool> exchanges = times.hasCollectives(member);
    if (failed(exchanges))
      return failure();
    if (*exchanges)
      return std::string();
  }
  return std::string("neither has collectives that the other could hide");
}

/// Positions of the fragments of each mesh.
static std::vector<std::vector<unsigned>> getQueues(const BlockGraph &graph) {
  llvm::MapVector<StringAttr, std::vector<unsigned>> queues;
  for (unsigned position = 0; position < graph.size(); ++position)
    if (auto fragment = dyn_cast<FragmentOp>(graph.getOp(position)))
      queues[fragment.getMeshNameAttr()].push_back(position);
  std::vector<std::vector<unsigned>> result;
  for (auto &[mesh, queue] : queues)
    result.push_back(std::move(queue));
  return result;
}

/// What a form of a pair takes and hides, or an obstacle as above.
FailureOr<std::string>
PairSearch::findForm(const MarkedPair &pair,
                     std::optional<OverlapCandidate> &form) {
  SmallVector<unsigned, 3> members;
  double sum = 0;
  for (FragmentOp member : pair.getMembers()) {
    members.push_back(graph.getPosition(member));
    sum += seconds[members.back()];
  }
  FailureOr<std::string> obstacle = findObstacle(pair, members);
  if (failed(obstacle) || !obstacle->empty())
    return obstacle;
  FailureOr<double> hidden = times.getHidden(pair.first.front(), pair.second);
  if (failed(hidden))
    return failure();
  form = OverlapCandidate{std::move(members), sum - *hidden, *hidden};
  return obstacle;
}

FailureOr<std::vector<PairForms>> PairSearch::findForms(
    ArrayRef<MarkedPair> pairs,
    function_ref<void(const MarkedPair &, const std::string &)> report) {
  std::vector<PairForms> forms;
  for (const MarkedPair &pair : pairs) {
    PairForms &found = forms.emplace_back(PairForms{pair, {}, {}});
    FailureOr<std::string> obstacle = findForm(pair, found.whole);
    if (failed(obstacle) ||
        (pair.second.size() > 1 &&
         failed(findForm(pair.withoutLateHalf(), found.early))))
      return failure();
    if (found.whole || found.early)
      continue;
    report(pair, *obstacle);
    forms.pop_back();
  }
  return forms;
}

LogicalResult
PairSearch::measure(const std::optional<meshwright::Device> &known) {
  queues = getQueues(graph);
  places.assign(graph.size(), 0);
  seconds.assign(graph.size(), 0);
  for (const std::vector<unsigned> &queue : queues)
    for (auto [place, position] : llvm::enumerate(queue)) {
      places[position] = place;
      FailureOr<double> time =
          times.measure(cast<FragmentOp>(graph.getOp(position)));
      if (failed(time))
        return failure();
      seconds[position] = *time;
    }
  if (!known)
    return success();
  return TransferTimes(func, *known).measure(graph, seconds);
}

FailureOr<double> PairSearch::getHiddenByHalf(ArrayRef<unsigned> positions,
                                              unsigned half) {
  auto fragments = llvm::map_to_vector(positions, [&](unsigned position) {
    return cast<FragmentOp>(graph.getOp(position));
  });
  FragmentOp first = fragments.front();
  if (!isUserFragment(first) || !getCallCounter(first))
    return 0.0;
  ArrayRef<FragmentOp> others = ArrayRef(fragments).drop_front();
  FailureOr<double> before =
      others.empty() ? 0.0 : times.getHidden(first, others);
  fragments.push_back(cast<FragmentOp>(graph.getOp(half)));
  FailureOr<double> hidden =
      times.getHidden(first, ArrayRef(fragments).drop_front());
  if (failed(before) || failed(hidden))
    return failure();
  return std::max(0.0, *hidden - *before);
}
