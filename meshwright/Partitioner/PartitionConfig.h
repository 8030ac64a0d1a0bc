//===- PartitionConfig.h - What to partition, onto what ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_PARTITIONCONFIG_H
#define MESHWRIGHT_PARTITIONER_PARTITIONCONFIG_H

#include "meshwright/Partitioner/ConfigOptions.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
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
  std::string function = "main";
  std::vector<Mesh> topology;
  std::vector<Assignment> assignment;
  /// The assignment may have names that do not occur: it serves several
  /// programs.
  bool allowsUnknownNames = false;
  /// One entry per argument or result, or none at all.
  std::vector<std::optional<std::string>> inputMeshes;
  std::vector<std::optional<std::string>> outputMeshes;
  std::vector<int64_t> donate;
  /// Pairs of meshes that have a device in common, and so take turns.
  std::vector<std::pair<std::string, std::string>> sharedDevices;
  /// Merge and schedule rules are among those of the optimize phase.
  ConfigOptions options;

  /// What each phase is to do: the options, completed by what the schedule
  /// needs and by what else the configuration says.
  ConfigOptions resolveOptions() const;
};

/// Reads a configuration file's contents. Every problem is diagnosed at its
/// place in the file, naming the key: unknown keys, wrong types, meshes that
/// the topology does not have, an empty topology, negative stages or indices.
mlir::FailureOr<PartitionConfig>
parsePartitionConfig(llvm::StringRef text, llvm::StringRef fileName,
                     mlir::MLIRContext *context);

} // namespace meshwright

#endif
