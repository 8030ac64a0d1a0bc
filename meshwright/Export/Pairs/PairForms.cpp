//===- PairForms.cpp - In which form pairs become fragments ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Pairs/PairForms.h"
#include "meshwright/Export/Pairs/TimeLeft.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>
#include <utility>

using namespace mlir;
using namespace mlir::mpmd;

/// The part of a step that estimates cannot tell apart.
static constexpr double kEqual = 2e-3;

/// Each runs the program once.
static constexpr unsigned kMostTrials = 32;

/// Ways to postpone late halves, what keeps less in memory first. A gap that is shorter
/// than a half is worth it, since the half has to run at some time.
template <typename Visit>
static void forEachPostponement(LateUse use, Visit visit) {
  for (unsigned most : {2u, 4u, 8u})
    for (double share : {0.25, 0.5})
      for (bool fillsGapsFirst : {false, true})
        if (!fillsGapsFirst || use == LateUse::Busy)
          visit(Postponement{most, share, fillsGapsFirst});
}

namespace {
/// All pairs in one form, where they have it.
class Form {
public:
  Form(bool early, const BlockGraph &graph,
       ArrayRef<std::vector<unsigned>> queues, ArrayRef<double> seconds,
       const LateHalves &late, ArrayRef<PairForms> pairs)
      : graph(graph), readers(graph.getReaders()), queues(queues),
        seconds(seconds), late(late) {
    for (const PairForms &forms : pairs) {
      isEarly.push_back(forms.early && (early || !forms.whole));
      candidates.push_back(isEarly.back() ? *forms.early : *forms.whole);
    }
    timeLeft = measureTimeLeft(graph, readers, queues, seconds, candidates,
                               late.isLate);
  }

  void choose();
  bool endsBefore(const Form &other) const {
    return shortest < other.shortest * (1 - kEqual);
  }

  ChosenPairs take() {
    return {std::move(choice.isChosen), std::move(isEarly),
            std::move(choice.withLate), std::move(choice.order)};
  }

private:
  std::vector<bool> isEarly;
  OverlapChoice choice;

  /// Takes what is better: a shorter step or, if that is the same, more pairs.
  bool attempt(ArrayRef<MeshRules> rules);

  const BlockGraph &graph;
  EdgeTable readers;
  ArrayRef<std::vector<unsigned>> queues;
  ArrayRef<double> seconds;
  const LateHalves &late;
  std::vector<OverlapCandidate> candidates;
  std::vector<double> timeLeft;
  /// Of the ends that were taken.
  double shortest = std::numeric_limits<double>::infinity();
};
} // namespace

bool Form::attempt(ArrayRef<MeshRules> rules) {
  // One that ends later is no shorter.
  Deadline deadline{shortest * (1 - kEqual), timeLeft};
  OverlapChoice found = chooseOverlaps(graph, readers, queues, seconds,
                                       candidates, late, rules, deadline);
  auto count = [](const OverlapChoice &of) {
    return llvm::count(of.isChosen, true) + of.withLate.size();
  };
  bool isShorter = found.end < deadline.end;
  bool isLonger = found.end > shortest * (1 + kEqual);
  if (isLonger || (!isShorter && count(found) <= count(choice)))
    return false;
  shortest = std::min(shortest, found.end);
  choice = std::move(found);
  return true;
}

void Form::choose() {
  SmallVector<MeshRules> rules(queues.size());
  attempt(rules);
  auto attemptForAll = [&](auto change) {
    SmallVector<MeshRules> others(rules);
    llvm::for_each(others, change);
    if (attempt(others))
      rules = others;
  };
  attemptForAll([](MeshRules &mesh) { mesh.waitLimit = WaitLimit::Bounded; });
  if (late.isLate.any())
    for (LateUse use :
         {LateUse::None, LateUse::Single, LateUse::Busy, LateUse::All})
      forEachPostponement(use, [&](Postponement postponement) {
        attemptForAll([&](MeshRules &mesh) {
          mesh.lateUse = use;
          mesh.postponement = postponement;
        });
      });
  unsigned numTrials = 0;
  /// Whether there may be another one, and it is worth it.
  auto attemptOther = [&](auto &kept, auto other) {
    if (kept == other || numTrials == kMostTrials)
      return;
    ++numTrials;
    auto before = std::exchange(kept, other);
    if (!attempt(rules))
      kept = before;
  };
  for (MeshRules &mesh : rules)
    for (WaitLimit other :
         {WaitLimit::Endless, WaitLimit::Bounded, WaitLimit::None})
      attemptOther(mesh.waitLimit, other);
  if (rules.front().postponement.most == 0)
    return;
  for (MeshRules &mesh : rules)
    for (LateUse other :
         {LateUse::None, LateUse::Single, LateUse::Busy, LateUse::All})
      attemptOther(mesh.lateUse, other);
}

ChosenPairs mpmd::choosePairs(const BlockGraph &graph,
                              ArrayRef<std::vector<unsigned>> queues,
                              ArrayRef<double> seconds, const LateHalves &late,
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
