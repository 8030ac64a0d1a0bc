//===- Stages.h - What a run of layers costs on a mesh ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_STAGES_H
#define MESHWRIGHT_PLANNING_STAGES_H

#include "meshwright/Cost/Collective.h"
#include "meshwright/Planning/Layers.h"
#include <algorithm>

namespace meshwright {

/// How the devices of each mesh share their work.
struct MeshSplit {
  int64_t data = 1, tensor = 1;
  int64_t count() const { return data * tensor; }
};

/// Seconds and bytes of one stage, a run of layers; of one device.
struct StageCost {
  double forward = 0, backward = 0; ///< Of one microbatch.
  /// Of the backward: the gradient of the input, that of the weights.
  double input = 0, weight = 0;
  double reduces = 0;    ///< The part of forward and backward in collectives.
  double stepEnd = 0;    ///< Sum of gradients over `data`, and the optimizer.
  double fixedBytes = 0; ///< Parameters, gradients, optimizer state.
  double keptBytes = 0;  ///< Of one microbatch, until its backward.
  double residualBytes = 0; ///< Of one microbatch, while its backward runs.

  double getTime() const { return forward + backward; }
  /// Of a forward and a backward as an overlapped pair: kernels and collectives are two
  /// resources.
  double getPairTime() const {
    return std::max({getTime() - reduces, reduces, forward, backward});
  }
};

/// Costs of all runs of layers, by sums from the first layer on.
class StageCosts {
public:
  /// `examples` is the size of a microbatch.
  StageCosts(const Layers &layers, const Device &device, MeshSplit split,
             int64_t examples, bool recomputes);

  /// Of layers begin, ..., end - 1.
  StageCost get(size_t begin, size_t end) const;
  /// Seconds of a transfer after layer `end - 1`.
  double getTransfer(size_t end, bool crossesDomain) const;
  size_t getCount() const { return sums.size() - 1; }

private:
  std::vector<StageCost> sums;
  /// Bytes of a device of what goes into layer i, and out of the last.
  std::vector<double> borders;
  Device device;
  bool recomputes;
};

} // namespace meshwright

#endif
