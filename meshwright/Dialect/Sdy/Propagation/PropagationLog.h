//===- PropagationLog.h - Which axes went where -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What propagation does, step by step, and with it the answer to where an axis
// of a value comes from: back along the steps to a value that had it before.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_PROPAGATION_PROPAGATIONLOG_H
#define MESHWRIGHT_DIALECT_SDY_PROPAGATION_PROPAGATIONLOG_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace mlir::sdy {

/// A sharding that changes, by position among operands, then results.
using ShardingChange = std::pair<unsigned, TensorShardingAttr>;

/// An axis that went from a tensor of an op to others.
struct PropagationEdge {
  AxisRefAttr axis;
  unsigned source;
  SmallVector<unsigned, 2> targets;
};

/// What happened at an op, between a function result and what is returned, or
/// among the members of a group.
struct PropagationStep {
  enum class Place { Op, FunctionResult, Group };

  Place place;
  /// Number of the op in the table, of the function result, or of the group.
  unsigned index;
  /// By position: operands, then results.
  SmallVector<unsigned, 4> slots;
  unsigned numOperands;
  /// By axis, in the order of names.
  SmallVector<PropagationEdge> edges;
};

struct PropagationLog {
  std::vector<PropagationStep> steps;

  /// Adds that the sharding of a value went to all members of its group.
  void addGroup(unsigned group, unsigned source, ArrayRef<unsigned> members,
                TensorShardingAttr sharding);
};

/// Which axes are new in the changed tensors of an op, and from which other
/// tensor they are: the first that has most of what the factor has now.
SmallVector<PropagationEdge>
getPropagationEdges(OpShardingRuleAttr rule, MeshAttr mesh,
                    ArrayRef<TensorShardingAttr> before,
                    ArrayRef<ShardingChange> changes);

} // namespace mlir::sdy

#endif
