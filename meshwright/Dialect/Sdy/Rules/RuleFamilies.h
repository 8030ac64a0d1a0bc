//===- RuleFamilies.h - Rules of the families of ops ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What getShardingRule chooses from. All ops must have static shapes. Factors
// are numbered in the order in which the comments name them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_RULES_RULEFAMILIES_H
#define MESHWRIGHT_DIALECT_SDY_RULES_RULEFAMILIES_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

namespace mlir::sdy {

/// A factor per dimension of the first result; null if other tensors do not
/// have these dimensions.
OpShardingRuleAttr getPointwiseRule(Operation *op);

// CollectiveRules.cpp
OpShardingRuleAttr getRule(stablehlo::AllGatherOp op);
OpShardingRuleAttr getRule(stablehlo::AllToAllOp op);
OpShardingRuleAttr getRule(stablehlo::ReduceScatterOp op);

// ConvolutionRule.cpp
OpShardingRuleAttr getRule(stablehlo::ConvolutionOp op);

// CustomCallRules.cpp
OpShardingRuleAttr getRule(stablehlo::CustomCallOp op);

// DotRules.cpp
OpShardingRuleAttr getRule(stablehlo::DotOp op);
OpShardingRuleAttr getRule(stablehlo::DotGeneralOp op);

// GatherScatterRules.cpp
OpShardingRuleAttr getRule(stablehlo::GatherOp op);
OpShardingRuleAttr getRule(stablehlo::ScatterOp op);

// LinearAlgebraRules.cpp
OpShardingRuleAttr getRule(stablehlo::BatchNormInferenceOp op);
OpShardingRuleAttr getRule(stablehlo::CholeskyOp op);
OpShardingRuleAttr getRule(stablehlo::FftOp op);
OpShardingRuleAttr getRule(stablehlo::TriangularSolveOp op);

// ReshapeRule.cpp
OpShardingRuleAttr getRule(stablehlo::ReshapeOp op);

// ShapeRules.cpp
OpShardingRuleAttr getRule(stablehlo::BitcastConvertOp op);
OpShardingRuleAttr getRule(stablehlo::BroadcastInDimOp op);
OpShardingRuleAttr getRule(stablehlo::ConcatenateOp op);
OpShardingRuleAttr getRule(stablehlo::ReverseOp op);
OpShardingRuleAttr getRule(stablehlo::RngBitGeneratorOp op);
OpShardingRuleAttr getRule(stablehlo::SortOp op);
OpShardingRuleAttr getRule(stablehlo::TransposeOp op);

// SliceRules.cpp
OpShardingRuleAttr getRule(stablehlo::DynamicSliceOp op);
OpShardingRuleAttr getRule(stablehlo::DynamicUpdateSliceOp op);
OpShardingRuleAttr getRule(stablehlo::PadOp op);
OpShardingRuleAttr getRule(stablehlo::SliceOp op);

// WindowRules.cpp
OpShardingRuleAttr getRule(stablehlo::ReduceOp op);
OpShardingRuleAttr getRule(stablehlo::ReduceWindowOp op);
OpShardingRuleAttr getRule(stablehlo::SelectAndScatterOp op);

} // namespace mlir::sdy

#endif
