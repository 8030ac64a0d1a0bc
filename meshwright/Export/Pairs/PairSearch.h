//===- PairSearch.h - Which pairs can be one program ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Two fragments that a schedule overlaps can become one where the first is right
// before the second on its mesh, the second does not read it, and no effects of
// others come between theirs.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PAIRS_PAIRSEARCH_H
#define MESHWRIGHT_EXPORT_PAIRS_PAIRSEARCH_H

#include "meshwright/Export/Pairs/MarkedPairs.h"
#include "meshwright/Export/Pairs/OverlapTimes.h"
#include "meshwright/Export/Pairs/PairForms.h"
#include "meshwright/Order/BlockGraph.h"
#include "meshwright/Order/EffectOrder.h"

namespace mlir::mpmd {

/// The ops of a function, in the queues of their meshes, and what pairs of them can
/// be one.
class PairSearch {
public:
  PairSearch(func::FuncOp func, OverlapTimes &times, bool onlyWithCollectives)
      : graph(func.front()), effects(func.front()), func(func), times(times),
        onlyWithCollectives(onlyWithCollectives) {}

  /// Without a device, transfers take no time.
  LogicalResult measure(const std::optional<meshwright::Device> &known);
  /// Of each pair that can be one; `report` gets why others cannot.
  FailureOr<std::vector<PairForms>>
  findForms(ArrayRef<MarkedPair> pairs,
            function_ref<void(const MarkedPair &, const std::string &)> report);
  /// What running `half`, too, hides beside the ops at these positions.
  FailureOr<double> getHiddenByHalf(ArrayRef<unsigned> positions,
                                    unsigned half);

  BlockGraph graph;
  EffectOrder effects;
  std::vector<std::vector<unsigned>> queues; ///< Of fragments, by position.
  std::vector<double> seconds;               ///< By position.

private:
  FailureOr<std::string> findObstacle(const MarkedPair &pair,
                                      ArrayRef<unsigned> members);
  FailureOr<std::string> findForm(const MarkedPair &pair,
                                  std::optional<OverlapCandidate> &form);

  func::FuncOp func;
  OverlapTimes &times;
  bool onlyWithCollectives;
  std::vector<unsigned> places; ///< In the queue of the mesh, by position.
};

} // namespace mlir::mpmd

#endif
