//===- OverlapChoice.h - Which pairs become one fragment --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Problem. A pair starts when both of its parts can. If its second part can start
// much later than its first, the mesh waits for longer than the pair saves; if it needs
// the first, by way of other meshes, forever.
//
// Example. The mesh is free at 0, the forward takes 3, the backward 4, together 5. A
// gradient that is there at 1 makes the pair end at 6, and one at 3 at 8; one after the
// other they would end at 7:
//
//     inputs at 1  |.FFFBB|      inputs at 3  |FFFBBBB|
//
// Solution. One simulation of the program decides on each pair when the mesh could start
// with its first part: it waits for the second at most as long as the pair saves, which
// is less than the first part takes. So nothing that reads the first part can have started
// when it is decided that the mesh should have started with that. What the simulation
// runs, it has run in some order: pairs that wait for each other, or for themselves,
// cannot come out of it.
//
// A mesh that waits costs nothing where none waits for the mesh, and one that does not may
// cost others more than it gains. So a mesh may also wait as long as anything else runs, or
// not at all; what is best, the end of the program says.
//
// The late half of a backward, which no neighbour waits for, may wait as well, until its
// mesh would do nothing for a part of what it takes, or too many wait. What makes the
// program shorter is worth what such halves keep in memory.
//
//     at once  |FFBBB|WW|..|FFBBB|WW|      in a gap  |FFBBB|WW|FFBBB|WW|
//
// A half that waits can also become one fragment with what runs next: the products of the
// half then hide its collectives. That may be what is in no pair, as while the pipeline
// drains, or a pair without its own late half, which has hidden less than there is.
// Neighbours wait for both, so each mesh does that or not, again by the end of the program.
//
//     apart  |BBB|BBB|WW|WW|      together  |BBB|BBBW|WW|
//
// No half that waits makes what runs next so late that the program cannot end in time,
// by the longest path from there: the last gradients of inputs travel through all meshes,
// and halves that they would wait for run while their meshes wait for them.
//
// Transfers take their time, and wait for each other: a mesh has one way out and one way
// in, and the transfer that could start first has both first.
//
// Cost. A logarithm for each event, of which an operation and an edge make one each.
//
// Name in the literature: list scheduling; the bound is that of a rent-or-buy decision.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_PAIRS_OVERLAPCHOICE_H
#define MESHWRIGHT_EXPORT_PAIRS_OVERLAPCHOICE_H

#include "meshwright/Order/BlockGraph.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <utility>

namespace mlir::mpmd {

/// A forward, and a backward of one or two fragments, that follow each other on a mesh;
/// by position in their block.
struct OverlapCandidate {
  SmallVector<unsigned, 3> members;
  double seconds; ///< Of the pair, as one program.
  double hidden;  ///< What that is shorter than the sum.
};

/// How long a mesh waits for the second part of a pair.
enum class WaitLimit {
  None,    ///< It pairs nothing.
  Bounded, ///< As long as the pair saves.
  Endless, ///< As long as anything else runs.
};

/// Of what a late half that waits hides the collectives.
enum class LateUse {
  None,
  Single, ///< What is in no pair.
  Busy, ///< Pairs without a late half, too, if the mesh has not waited for them.
  All,  ///< These pairs in any case.
};

/// When late halves run.
struct Postponement {
  unsigned most = 0; ///< Of a mesh, how many wait.
  double share = 0;  ///< The part of one that there must be a gap for.
  /// Whether a pair hides its collectives beside one of them only if as many wait as may:
  /// the others fill gaps.
  bool fillsGapsFirst = false;
};

/// What a mesh does.
struct MeshRules {
  WaitLimit waitLimit = WaitLimit::None;
  LateUse lateUse = LateUse::None;
  Postponement postponement;
};

/// The late halves of backwards, which may be postponed.
struct LateHalves {
  llvm::BitVector isLate; ///< By position.
  /// What a fragment, or a pair, saves as one program with such a half, at least 0.
  llvm::function_ref<double(ArrayRef<unsigned> fragments, unsigned half)>
      getHidden;
};

/// When a program should end.
struct Deadline {
  double end;
  /// After each op, by position (`measureTimeLeft`).
  ArrayRef<double> timeLeft;
};

struct OverlapChoice {
  std::vector<bool> isChosen; ///< Of each candidate: should be one fragment.
  /// Fragments, or the first of pairs, each with the late half with which it should be
  /// one.
  std::vector<std::pair<unsigned, unsigned>> withLate;
  /// What each queue runs, in order.
  std::vector<std::vector<unsigned>> order;
  double end; ///< When the program has ended.
};

/// Says for each candidate whether it should be one fragment. `readers` are those of the
/// graph, `queues` the positions of the fragments of each mesh, in order, `seconds` what
/// each op takes, `rules` those of each queue. The program may end later than it should.
OverlapChoice chooseOverlaps(const BlockGraph &graph, const EdgeTable &readers,
                             ArrayRef<std::vector<unsigned>> queues,
                             ArrayRef<double> seconds,
                             ArrayRef<OverlapCandidate> candidates,
                             const LateHalves &late, ArrayRef<MeshRules> rules,
                             const Deadline &deadline);

} // namespace mlir::mpmd

#endif
