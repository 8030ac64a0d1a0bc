//===- MeshOffload.h - What one mesh lets wait on its host ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_OFFLOAD_MESHOFFLOAD_H
#define MESHWRIGHT_EXPORT_OFFLOAD_MESHOFFLOAD_H

#include "meshwright/Export/Offload/BlockTimes.h"
#include "meshwright/Schedule/Search/OffloadChoice.h"
#include <map>

namespace mlir::mpmd {

/// Whether a fragment does work of the forward, or of the backward.
bool hasForward(FragmentOp fragment);
bool hasBackward(FragmentOp fragment);

/// The values of one mesh, and what becomes of them.
class MeshOffload {
public:
  MeshOffload(StringAttr mesh, std::vector<FragmentOp> queue)
      : mesh(mesh), queue(std::move(queue)) {
    for (auto [step, fragment] : llvm::enumerate(this->queue))
      steps[fragment] = step;
  }

  /// `latest` has the last moments at which ops may start.
  LogicalResult measure(func::FuncOp func, const BlockTimes &times,
                        const DenseMap<Operation *, double> &latest,
                        OverlapTimes &durations,
                        const meshwright::Device &device);
  StringAttr getMesh() const { return mesh; }
  int64_t getPeak() const;
  /// What keeps the mesh at a bound; without a bound, or if none does, what brings it
  /// nearest.
  meshwright::HostPlan plan(std::optional<int64_t> bound) const;
  /// Lets values wait on the host, and returns their bytes.
  int64_t offload(const meshwright::HostPlan &plan);
  unsigned getNumOffloaded() const { return numOffloaded; }
  /// Adds the fragments that start later by a plan, with their starts.
  void addDelays(const meshwright::HostPlan &plan,
                 DenseMap<Operation *, double> &earliest) const;

private:
  /// The last step that has started before `time` however late it starts; the first one if
  /// none has.
  unsigned getStepAt(double time) const;
  unsigned getLastSendStep(Operation *transfer, unsigned producer,
                           const BlockTimes &times) const;
  void addValue(Value value, func::FuncOp func, const BlockTimes &times,
                int64_t bytes);
  void addToGroup(OpResult value, const BlockTimes &times, int64_t bytes);
  /// Make the transfers of a trip to the host, and back.
  SmallVector<TransferOp> send(const meshwright::HostTrip &trip);
  void fetch(const meshwright::HostTrip &trip, ArrayRef<TransferOp> sent);

  StringAttr mesh;
  std::vector<FragmentOp> queue;
  DenseMap<Operation *, unsigned> steps;
  meshwright::DeviceLoad load;
  std::vector<int64_t> changes; ///< Of what is held, by step.
  std::vector<meshwright::WaitingGroup> groups;
  /// Of each group, as its sizes.
  std::vector<std::vector<OpResult>> values;
  std::map<std::tuple<unsigned, unsigned, double>, unsigned> groupIds;
  unsigned numOffloaded = 0;
};

} // namespace mlir::mpmd

#endif
