//===- Partitioner.h - One program in, programs on meshes out ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The library's front door:
//
//   FailureOr<PartitionConfig> config = parsePartitionConfig(json, name, ctx);
//   FailureOr<PartitionResult> result = partition(module, *config);
//   printTable(result->summary, llvm::outs());
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_PARTITIONER_H
#define MESHWRIGHT_PARTITIONER_PARTITIONER_H

#include "meshwright/Partitioner/PartitionConfig.h"
#include "meshwright/Partitioner/ProgramSummary.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>

namespace meshwright {

/// The phases of a compile, in order.
enum class Phase { Import };

struct PhaseInfo {
  Phase phase;
  llvm::StringRef name;
  llvm::StringRef description;
};
llvm::ArrayRef<PhaseInfo> getPhases();

struct PartitionResult {
  /// The partitioned function, in the module that was given.
  mlir::func::FuncOp function;
  ProgramSummary summary;
};

/// Called after each phase with the seconds it took.
using PhaseListener = std::function<void(const PhaseInfo &, double)>;

/// Partitions the configured function of `module` in place, phase by phase up
/// to and including `until`. The function is the symbol `config.function`, or
/// `@main` if the module is called `jit_<config.function>`, as JAX calls it.
///
/// Emits a diagnostic and fails if the function does not exist or is
/// empty, if the configuration does not fit it (unknown names, wrong counts of
/// meshes, indices out of range), or if a phase fails; the module is then in
/// an unspecified, though valid, state.
mlir::FailureOr<PartitionResult> partition(mlir::ModuleOp module,
                                           const PartitionConfig &config,
                                           Phase until = Phase::Import,
                                           const PhaseListener &onPhase = {});

} // namespace meshwright

#endif
