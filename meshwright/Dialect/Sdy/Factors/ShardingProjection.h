//===- ShardingProjection.h - Shardings seen by factors ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A sharding rule maps each dimension of each tensor of an op to factors; equal
// factors are to be split alike. So propagation does not look at dimensions but
// at the axes of factors. With x=2, y=4:
//
//   tensor<8xf32> [{"x", "y"}], dimension mapped to ij, i=4, j=2
//     i: "x", "y":(1)2        the axes that split 4
//     j: "y":(2)2             the rest
//
// Axes that do not divide a factor with another one after it overflow: they
// are kept with the factor, the next one closes, and the tensor has no part in
// those after that one.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_FACTORS_SHARDINGPROJECTION_H
#define MESHWRIGHT_DIALECT_SDY_FACTORS_SHARDINGPROJECTION_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace mlir::sdy {

/// The axes of one factor in one tensor.
struct FactorSharding {
  /// Major to minor.
  SmallVector<AxisRefAttr, 2> axes;
  /// Axes after `axes` that do not divide what is left of the factor.
  SmallVector<AxisRefAttr, 1> overflowAxes;
  /// Whether the tensor has the factor; nothing else counts if not.
  bool isPresent = false;
  bool isClosed = false;
  /// Last factor of its dimension: it takes any axis.
  bool isMinorMost = false;
};

/// One tensor of an op.
struct ProjectedTensor {
  /// By index of the factor, all factors of the rule.
  SmallVector<FactorSharding, 4> factors;
  /// The explicitly replicated and the unreduced axes.
  SmallVector<AxisRefAttr, 0> excludedAxes;
  /// Whether a strategy has extended a factor.
  bool isExtended = false;
};

/// All tensors of an op.
struct ShardingProjection {
  SmallVector<ProjectedTensor, 4> operands;
  SmallVector<ProjectedTensor, 2> results;
};

/// Splits the axes of the dimensions among their factors. A null sharding is
/// open everywhere.
ProjectedTensor projectSharding(TensorShardingAttr sharding,
                                TensorMappingAttr mapping,
                                OpShardingRuleAttr rule, MeshAttr mesh);

/// The inverse. Openness and the replicated and unreduced axes are those of
/// `before`; if that is null, dimensions are open.
TensorShardingAttr composeSharding(const ProjectedTensor &tensor,
                                   TensorMappingAttr mapping,
                                   OpShardingRuleAttr rule,
                                   TensorShardingAttr before,
                                   Attribute meshOrRef, MeshAttr mesh);

/// Whether `longer` continues `shorter` and is not equal to it. The last axis
/// of `shorter` may be a prefix of its counterpart.
bool isStrictExtension(ArrayRef<AxisRefAttr> shorter,
                       ArrayRef<AxisRefAttr> longer);

} // namespace mlir::sdy

#endif
