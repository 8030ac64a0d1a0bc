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

namespace {
/// All pairs in one form, where they have it.
class Form {
public:
  Form(bool early, const BlockGraph &graph,
       ArrayRef<std::vector<unsigned>> queues, ArrayRef<double> seconds,
       ArrayRef<PairForms> pairs)
      : graph(graph), queues(queues), seconds(seconds) {
    for (const PairForms &forms : pairs) {
      isEarly.push_back(forms.early && (early || !forms.whole));
      candidates.push_back(isEarly.back() ? *forms.early : *forms.whole);
    }
  }

  void choose();
  bool endsBefore(const Form &other) const {
    return shortest < other.shortest * (1 - kEqual);
  }

  std::vector<bool> isEarly;
  OverlapChoice choice;

private:
  /// Takes what is better: a shorter step or, if that is the same, more pairs.
  bool attempt(ArrayRef<Patience> patience);

  const BlockGraph &graph;
  ArrayRef<std::vector<unsigned>> queues;
  ArrayRef<double> seconds;
  std::vector<OverlapCandidate> candidates;
  double shortest = 0; ///< Of the ends that were taken.
  unsigned numTrials = 0;
};
} // namespace

bool Form::attempt(ArrayRef<Patience> patience) {
  if (++numTrials > kMostTrials)
    return false;
  OverlapChoice found =
      chooseOverlaps(graph, queues, seconds, candidates, patience);
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
  choice = chooseOverlaps(graph, queues, seconds, candidates, patience);
  shortest = choice.end;
  SmallVector<Patience> bounded(queues.size(), Patience::Bounded);
  if (attempt(bounded))
    patience = bounded;
  for (Patience &mesh : patience)
    for (Patience other :
         {Patience::Endless, Patience::Bounded, Patience::None}) {
      Patience kept = mesh;
      if (other == kept)
        continue;
      mesh = other;
      if (!attempt(patience))
        mesh = kept;
    }
}

ChosenPairs mpmd::choosePairs(const BlockGraph &graph,
                              ArrayRef<std::vector<unsigned>> queues,
                              ArrayRef<double> seconds,
                              ArrayRef<PairForms> pairs) {
  Form best(/*early=*/false, graph, queues, seconds, pairs);
  best.choose();
  if (llvm::any_of(pairs, [](const PairForms &forms) {
        return forms.whole && forms.early;
      })) {
    Form early(/*early=*/true, graph, queues, seconds, pairs);
    early.choose();
    if (early.endsBefore(best))
      return {std::move(early.choice.isChosen), std::move(early.isEarly)};
  }
  return {std::move(best.choice.isChosen), std::move(best.isEarly)};
}
