//===- ShortenLoop.h - A loop over fewer microbatches -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A pipeline does the same for each microbatch, and so a program of hundreds is
// partitioned as one of a few (RepeatProgram.h makes the whole of it). Only the loop
// over the microbatches becomes shorter; what is around it stays as it is, the batch cut
// into all of its microbatches, and the results of all being added up. What the
// other iterations would take and give there, one computation a mesh takes and gives:
//
//   %s:512 = slices of the batch
//   %r:512 = mpmd.for (%s, ..) {iterations = 512} {..}
//   // becomes
//   %s:512 = slices of the batch
//   %q:8   = the last results of mpmd.for (%s, ..) {iterations = 8} {..}
//   %p:504 = named_computation<"rest of mesh0"> (%s#8, .., %s#511) {custom_call ..}
//
// The loop has the form that `mw.pipeline.accumulate` gives it (pipeline/loop.py): queues
// that go on by one in each iteration, sums, and one call.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_REPEAT_SHORTENLOOP_H
#define MESHWRIGHT_PARTITIONER_REPEAT_SHORTENLOOP_H

#include "meshwright/Partitioner/PartitionConfig.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>
#include <string>

namespace meshwright {

/// The loop over the microbatches of a program that can be shortened.
class MicrobatchLoop {
public:
  /// Finds it in `function`; none, and why, if it is not of that form, or if the
  /// program would be partitioned in another way.
  static std::optional<MicrobatchLoop> find(mlir::func::FuncOp function,
                                            const PartitionConfig &config,
                                            std::string &whyNot);

  unsigned countMicrobatches() const { return loop.getIterations(); }

  /// Shortens it to fewer iterations. The computations that represent the others are
  /// assigned to meshes by `config`.
  void shorten(unsigned count, PartitionConfig &config);

private:
  /// What one mesh takes of each microbatch, and gives, by the carried values that begin
  /// the queues.
  struct Traffic {
    std::string mesh;
    llvm::SmallVector<unsigned> taken, given;
  };
  using Queues = llvm::SmallVector<unsigned>;

  explicit MicrobatchLoop(mlir::mpmd::ForOp loop) : loop(loop) {}
  bool findQueues();
  bool isQueue(unsigned first) const;
  bool findTraffic(const PartitionConfig &config, std::string &whyNot);
  Traffic *findMesh(mlir::Operation *computation,
                    const PartitionConfig &config);
  void addSubstitute(unsigned count, PartitionConfig &config);

  mutable mlir::mpmd::ForOp loop; ///< Its members are not constant.
  mutable mlir::mpmd::CallOp call;
  Queues inputs, results;
  std::vector<Traffic> traffics;
};

} // namespace meshwright

#endif
