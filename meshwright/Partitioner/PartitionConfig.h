//===- PartitionConfig.h - What to partition, onto what ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_PARTITIONCONFIG_H
#define MESHWRIGHT_PARTITIONER_PARTITIONCONFIG_H

#include "meshwright/Calls/InlinedSize.h"
#include "meshwright/Optimize/Rules/FragmentRules.h"
#include "meshwright/Optimize/Scheduler/ScheduleOption.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace meshwright {

/// Everything a user decides about a partitioning. Meshes and axes are in the
/// user's order.
struct PartitionConfig {
  struct Axis {
    std::string name;
    int64_t size;
  };
  struct Mesh {
    std::string name;
    std::vector<Axis> axes;
  };
  /// Where the computations and tensors of a name go.
  struct Assignment {
    std::string name;
    std::string mesh; ///< With its memory kind, as in "m1#pinned_host".
    std::optional<int64_t> stage;
  };
  /// The switches of the compiler, as the front end names them.
  struct Options {
    bool inferTransfers = false;
    bool inferCrossMeshReductions = false;
    bool fragmentRemat = false;
    bool mergeRematFragments = false;
    std::optional<bool> splitBwdFragments;
    bool assumeHomogeneousDevices = false;
    bool absorbInferredFragmentsOnEntryPoint = false;
    bool copyConstants = false;
    bool applyMergeTransfers = false;
    std::optional<bool> mergeInferredAfterScheduling;
    bool failOnBackwardDeps = false;
    int64_t maxInlinedOps = kMaxInlinedOps;
    /// Follow the schedule to the letter: what it needs is on by itself, and
    /// its plan decides where its relation says nothing.
    bool completeSchedule = false;
    mlir::mpmd::ScheduleOption schedule = {findSchedule("GPipe"), nullptr, ""};

    /// What the user says, or else what the schedule needs: halves of backward
    /// work, if it has a place for them.
    bool splitsBwdFragments() const {
      return splitBwdFragments.value_or(completeSchedule &&
                                        schedule.splitsBackward());
    }
    /// The same: sums of gradients that do not tie its backward work to the
    /// order of the sum.
    bool mergesInferredAfterScheduling() const {
      return mergeInferredAfterScheduling.value_or(completeSchedule &&
                                                   schedule.needsSumsApart());
    }
  };

  std::string function = "main";
  std::vector<Mesh> topology;
  std::vector<Assignment> assignment;
  /// One entry per argument or result, or none at all.
  std::vector<std::optional<std::string>> inputMeshes;
  std::vector<std::optional<std::string>> outputMeshes;
  std::vector<int64_t> donate;
  /// Take effect in the optimize phase; with schedule rules, the builtin
  /// schedule is not used.
  llvm::SmallVector<mlir::mpmd::FragmentMergeRule> mergeRules;
  llvm::SmallVector<mlir::mpmd::FragmentScheduleRule> scheduleRules;
  Options options;
};

/// Sets the schedule: the name of a builtin one, or `file:PATH`. The error
/// lists the known ones, or says what is wrong with the file.
llvm::Error setSchedule(PartitionConfig &config, llvm::StringRef name);

/// Reads a configuration file's contents. Every problem is diagnosed at its
/// place in the file, naming the key: unknown keys, wrong types, meshes that
/// the topology does not have, an empty topology, negative stages or indices.
mlir::FailureOr<PartitionConfig>
parsePartitionConfig(llvm::StringRef text, llvm::StringRef fileName,
                     mlir::MLIRContext *context);

} // namespace meshwright

#endif
