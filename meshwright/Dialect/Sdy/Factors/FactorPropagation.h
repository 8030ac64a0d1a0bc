//===- FactorPropagation.h - Propagate axes among tensors -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Axes propagate factor by factor: what one tensor of an op has for a factor, the
// others may take over. Two strategies settle what happens if they disagree.
// The basic one extends all tensors of an op alike, only as far as none of them
// objects. The aggressive one extends each tensor as far as that tensor allows,
// and lets larger tensors decide which factor gets an axis.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_FACTORS_FACTORPROPAGATION_H
#define MESHWRIGHT_DIALECT_SDY_FACTORS_FACTORPROPAGATION_H

#include "meshwright/Dialect/Sdy/Factors/ShardingProjection.h"

namespace mlir::sdy {

enum class FactorStrategy : uint8_t { Basic, Aggressive };

/// How axes propagate in an op.
struct PropagationRule {
  OpShardingRuleAttr rule;
  /// One per factor.
  ArrayRef<PropagationDirection> directions;
  /// Operands do not get more than results.
  bool isElementwise = false;
  /// Only whole axes propagate.
  bool isConservative = false;
};

/// The axes that all tensors of an op agree on for a factor, as far as they say
/// anything: the longest list, cut where another one differs.
SmallVector<AxisRefAttr> getCompatibleAxes(const ShardingProjection &projection,
                                           int64_t factor,
                                           PropagationDirection direction);

/// Extends factors in tensors, and marks these tensors.
void propagateAxes(ShardingProjection &projection, const PropagationRule &rule,
                   MeshAttr mesh, FactorStrategy strategy);

} // namespace mlir::sdy

#endif
