//===- PairForms.cpp - In which form pairs become fragments ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pairs/PairForms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The part of a step that estimates cannot tell apart.
static constexpr double kEqual = 2e-3;

/// Each runs the program once.
static constexpr unsigned kMostTrials = 32;

/// Ways to postpone late halves, what keeps less in memory first. A gap that is shorter
/// than a half is worth it, since the half has to run at some time.
static constexpr Postponement kPostponements[] = {
    {2, 0.25}, {2, 0.5}, {4, 0.25}, {4, 0.5}, {8, 0.25}, {8, 0.5}};

namespace {
/// All pairs in one form, where they have it.
class Form {
public:
  Form(bool early, const BlockGraph &graph,
       ArrayRef<std::vector<unsigned>> queues, ArrayRef<double> seconds,
       const BitVector &late, ArrayRef<PairForms> pairs)
      : graph(graph), queues(queues), seconds(seconds), late(late) {
    for (const PairForms &forms : pairs) {
      isEarly.push_back(forms.early && (early || !forms.whole));
      candidates.push_back(isEarly.back() ? *forms.early : *forms.whole);
    }
  }

  void choose();
  bool endsBefore(const Form &other) const {
    return shortest < other.shortest * (1 - kEqual);
  }

  ChosenPairs take() {
    return {std::move(choice.isChosen), std::move(isEarly),
            std::move(choice.order)};
  }

private:
  std::vector<bool> isEarly;
  OverlapChoice choice;

  /// Takes what is better: a shorter step or, if that is the same, more pairs.
  bool attempt(ArrayRef<Patience> patience, Postponement postponement);

  const BlockGraph &graph;
  ArrayRef<std::vector<unsigned>> queues;
  ArrayRef<double> seconds;
  const BitVector &late;
  std::vector<OverlapCandidate> candidates;
  double shortest = 0; ///< Of the ends that were taken.
};
} // namespace

bool Form::attempt(ArrayRef<Patience> patience, Postponement postponement) {
  OverlapChoice found = chooseOverlaps(graph, queues, seconds, candidates, late,
                                       patience, postponement);
  auto count = [](const OverlapChoice &of) {
    return llvm::count(of.isChosen, true);
  };
  bool isShorter = found.end < shortest * (1 - kEqual);
  bool isLonger = found.end > shortest * (1 + kEqual);
  if (isLonger || (!isShorter && count(found) <= count(choice)))
    return false;
  shortest = std::min(shortest, found.end);
  choice = std::move(found);
  return true;
}

void Form::choose() {
  SmallVector<Patience> patience(queues.size(), Patience::None);
  Postponement postponement;
  choice = chooseOverlaps(graph, queues, seconds, candidates, late, patience,
                          postponement);
  shortest = choice.end;
  SmallVector<Patience> bounded(queues.size(), Patience::Bounded);
  if (attempt(bounded, postponement))
    patience = bounded;
  if (late.any())
    for (Postponement other : kPostponements)
      if (attempt(patience, other))
        postponement = other;
  unsigned numTrials = 0;
  for (Patience &mesh : patience)
    for (Patience other :
         {Patience::Endless, Patience::Bounded, Patience::None}) {
      Patience kept = mesh;
      if (other == kept)
        continue;
      if (++numTrials > kMostTrials)
        return;
      mesh = other;
      if (!attempt(patience, postponement))
        mesh = kept;
    }
}

ChosenPairs mpmd::choosePairs(const BlockGraph &graph,
                              ArrayRef<std::vector<unsigned>> queues,
                              ArrayRef<double> seconds, const BitVector &late,
                              ArrayRef<PairForms> pairs) {
  Form best(/*early=*/false, graph, queues, seconds, late, pairs);
  best.choose();
  if (llvm::any_of(pairs, [](const PairForms &forms) {
        return forms.whole && forms.early;
      })) {
    Form early(/*early=*/true, graph, queues, seconds, late, pairs);
    early.choose();
    if (early.endsBefore(best))
      return early.take();
  }
  return best.take();
}
