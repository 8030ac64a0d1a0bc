//===- Comparison.h - Which schedule, how many microbatches -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_COMPARISON_H
#define MESHWRIGHT_SIMULATOR_COMPARISON_H

#include "meshwright/Simulator/PlanWorkload.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace meshwright {

/// Stages as a program has them: means over the microbatches. A backward that
/// the program does not split counts as two halves of the same length.
struct ProgramStages {
  PipelineModel model;
  int64_t numMeshes = 0; ///< That have stages, in the order of the stages.
  int64_t numStages = 0;
  bool splitsBackward = false;
};

/// Fails if the program has no pipeline, forward and backward work in stages, or
/// one that takes longer than can be counted.
llvm::Expected<ProgramStages> findStages(const Workload &workload);

struct Combination {
  std::string schedule;
  int64_t microbatches = 0;
  Ticks makespan = 0;
  double bubble = 0;
  int64_t peakBytes = 0; ///< Of the fullest mesh, on each device.
  std::string peakMesh;
  bool fits = true;
  std::string problem; ///< Why there is no such plan; empty if there is one.

  double getPerMicrobatch() const {
    return static_cast<double>(makespan) / static_cast<double>(microbatches);
  }
};

struct ComparisonRequest {
  std::vector<std::string> schedules; ///< Names; unknown ones are an error.
  std::vector<int64_t> microbatches;
  int64_t meshes = 0;
  int64_t stages = 0;
  int64_t memory = 0; ///< Bytes on each device; 0 for any.
};

/// Simulates each combination; of schedule auto, the order that is found for
/// these stages and this memory. It is never longer than one of the others. First those that fit, the least time for a
/// microbatch first; then those that need too much memory, the least first;
/// then those that do not exist.
llvm::Expected<std::vector<Combination>>
compare(const PipelineModel &model, const ComparisonRequest &request);

/// Why none fits, with the least memory that would do; empty if some does.
std::string explainMemory(llvm::ArrayRef<Combination> combinations,
                          int64_t memory);

void printTable(llvm::ArrayRef<Combination> combinations,
                llvm::raw_ostream &os);
void writeJson(llvm::ArrayRef<Combination> combinations, llvm::raw_ostream &os);

} // namespace meshwright

#endif
