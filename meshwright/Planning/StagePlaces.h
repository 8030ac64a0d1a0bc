//===- StagePlaces.h - Cuts of a line of layers, with meshes ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_STAGEPLACES_H
#define MESHWRIGHT_PLANNING_STAGEPLACES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace meshwright {

/// Where each stage of a line of layers ends, and the mesh that has it.
struct StagePlaces {
  std::vector<size_t> ends;
  std::vector<int64_t> placement;

  size_t getBegin(size_t stage) const { return stage ? ends[stage - 1] : 0; }
  bool operator==(const StagePlaces &other) const {
    return ends == other.ends && placement == other.placement;
  }
};

/// Joins stages that follow each other on one mesh. False if a stage is empty, or one
/// of the meshes has no stage or more than `mostPerMesh`.
bool normalize(StagePlaces &places, int64_t meshes, int64_t mostPerMesh);

/// What one move makes of `from`, in a fixed order: a cut or a range of cuts goes up or
/// down, a stage goes to another mesh, two swap theirs, a stage is joined with the next
/// one, or divided. All are normalized.
std::vector<StagePlaces> listNeighbours(const StagePlaces &from, int64_t meshes,
                                        int64_t mostPerMesh);

} // namespace meshwright

#endif
