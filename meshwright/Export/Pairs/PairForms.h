//===- PairForms.h - In which form pairs become fragments -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Neighbours wait for a pair until all of it has ended. Where the backward is in two
// halves, the late one, which no neighbour waits for, can follow by itself:
//
//     whole  |FFFBBBWW|          early  |FFFBB|WW|
//             sends: ^                 sends: ^
//
// The late half then hides nothing, and the pair sends while it runs. All pairs of a
// program have the form by which the program ends first.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PAIRS_PAIRFORMS_H
#define MESHWRIGHT_EXPORT_PAIRS_PAIRFORMS_H

#include "meshwright/Export/Pairs/MarkedPairs.h"
#include "meshwright/Export/Pairs/OverlapChoice.h"
#include <optional>
#include <utility>

namespace mlir::mpmd {

/// A pair that can become one fragment, in at least one of two forms.
struct PairForms {
  MarkedPair pair;
  std::optional<OverlapCandidate> whole;
  std::optional<OverlapCandidate> early; ///< Without the late half.
};

/// What becomes one fragment.
struct ChosenPairs {
  std::vector<bool> isChosen;
  /// Where that is the last of the members, whether the late half follows by itself.
  std::vector<bool> isEarly;
  /// Fragments, or the first of pairs, each with a late half that hides their
  /// collectives, by position.
  std::vector<std::pair<unsigned, unsigned>> withLate;
  /// What each mesh runs, in order; what becomes one fragment is side by side.
  std::vector<std::vector<unsigned>> order;
};

/// Chooses the pairs, their form, on which meshes they wait for their second part
/// whatever that takes, and where late halves go, which may be postponed.
ChosenPairs choosePairs(const BlockGraph &graph,
                        ArrayRef<std::vector<unsigned>> queues,
                        ArrayRef<double> seconds, const LateHalves &late,
                        ArrayRef<PairForms> pairs);

} // namespace mlir::mpmd

#endif
