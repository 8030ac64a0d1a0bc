//===- PropagateShardings.h - All of propagation, once ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_PROPAGATESHARDINGS_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_PROPAGATESHARDINGS_H

#include "meshwright/Dialect/Sdy/Propagation/ShardingOrigins.h"

namespace mlir::sdy {

/// How far axes propagate where tensors of an op disagree.
enum class PropagationStrategy {
  /// As far as all tensors agree.
  Basic,
  /// As far as each tensor allows.
  Aggressive,
  /// Everything that all agree on first.
  BasicThenAggressive,
};

/// What the passes differ in.
struct PropagationConfig {
  PropagationStrategy strategy = PropagationStrategy::Aggressive;
  /// Cheap ops before expensive ones.
  bool byOpPriority = true;
  /// What the user wants settled first before the rest.
  bool byUserPriority = true;
  /// No sub-axes.
  bool isConservative = false;

  bool keepShardingRules = false;
  /// Attributes that tell where axes come from.
  bool debugShardingOrigins = false;
  bool debugPropagationEdgeSharding = false;
  /// Where the module goes after each priority but the last; not if empty.
  std::string dumpDirectory;
};

/// Called at the end, with the table still there, and what happened.
using PropagationListener = llvm::function_ref<void(
    const ShardingTable &, const ShardingOrigins &, const PropagationLog &)>;

/// Propagates the shardings of a module. Returns how many are new or changed.
FailureOr<unsigned> propagateShardings(ModuleOp module,
                                       const PropagationConfig &options,
                                       PropagationListener onEnd = {});

} // namespace mlir::sdy

#endif
