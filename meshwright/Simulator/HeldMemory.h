//===- HeldMemory.h - What a mesh holds over time ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_HELDMEMORY_H
#define MESHWRIGHT_SIMULATOR_HELDMEMORY_H

#include "meshwright/Simulator/Simulation.h"
#include "llvm/ADT/StringMap.h"
#include <vector>

namespace meshwright {

/// The bytes on each device of one mesh.
class HeldMemory {
public:
  /// That many from a time until another, at which they are free again.
  void hold(Ticks begin, Ticks end, int64_t bytes);
  /// Sets the peak, and the levels if they are asked for.
  void findPeak(Simulation::Mesh &mesh, bool withLevels);

private:
  std::vector<Simulation::Level> begins, ends;
};

/// The parts of a peak, the largest first.
std::vector<Simulation::Share>
listShares(const llvm::StringMap<int64_t> &shares);

} // namespace meshwright

#endif
