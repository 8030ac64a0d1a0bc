//===- Alternate.h - Forwards and backwards in turn -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Most schedules have one shape: some forwards to fill the pipeline, then a
// backward and a forward in turn, then the backwards that are left. They differ
// in how many forwards come first (the lead) and, where the backward is split,
// in how far the weight gradients lag behind (the lag).
//
// With several chunks on a mesh, microbatches go round in groups: the first
// group through all chunks, then the next. That numbers the forwards and, with
// the chunks the other way round, the backwards of a mesh.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PATTERNS_ALTERNATE_H
#define MESHWRIGHT_SCHEDULE_PATTERNS_ALTERNATE_H

#include "meshwright/Schedule/Schedule.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace meshwright {

/// Microbatch and chunk, in the order in which a mesh takes them.
struct ChunkOfMicrobatch {
  int64_t microbatch;
  int64_t chunk;
};

std::vector<ChunkOfMicrobatch> numberUnits(int64_t microbatches, int64_t chunks,
                                           int64_t group);

struct Alternation {
  int64_t lead;               ///< Forwards before the first backward.
  std::optional<int64_t> lag; ///< Weight gradients behind; none: not split.
  /// A forward and a backward that alternate overlap. They must not need each other.
  bool overlaps = false;
};

/// The list of the mesh at `index`. Stage c · meshes + index is its chunk c.
ActionList alternate(int64_t index, const PlanShape &shape, int64_t group,
                     const Alternation &alternation);

/// The lists of all meshes, each of which `choose` gives an alternation.
Plan alternateOnAll(const PlanShape &shape, int64_t group,
                    llvm::function_ref<Alternation(int64_t)> choose);

/// The size of the groups: as many equal rounds of at least a microbatch, or a chunk of
/// one, for each mesh as there are. Fails if the rounds cannot be equal.
llvm::Expected<int64_t> findGroupSize(llvm::StringRef schedule,
                                      const PlanShape &shape);

struct Interleaving {
  bool overlaps = false;  ///< As in an alternation.
  int64_t moreWarmUp = 0; ///< Forwards that go ahead of those that must.
};

/// 1F1B over several chunks of each mesh, in groups of microbatches. Fails if these
/// cannot be equal.
llvm::Expected<Plan> interleave(llvm::StringRef schedule,
                                const PlanShape &shape,
                                const Interleaving &interleaving = {});

} // namespace meshwright

#endif
