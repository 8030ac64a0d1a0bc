//===- CustomCallRules.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What a custom call computes follows from the name of its target alone; calls
// whose operands do not have the form that the name promises have no rule.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Rules/RuleFamilies.h"
#include "meshwright/Dialect/Sdy/Rules/ShardingRuleBuilder.h"
#include "llvm/ADT/StringSwitch.h"
#include <mutex>

using namespace mlir;
using namespace mlir::sdy;
using namespace mlir::stablehlo;

static ShapedType operandType(CustomCallOp op, int64_t index) {
  return cast<ShapedType>(op->getOperand(index).getType());
}

static ShapedType resultType(CustomCallOp op, int64_t index) {
  return cast<ShapedType>(op->getResult(index).getType());
}

/// Joins the halves of 64-bit numbers. Those that are the state of a random
/// number generator stay whole.
static OpShardingRuleAttr getX64CombineRule(CustomCallOp op) {
  if (resultType(op, 0).getRank() != 1 ||
      llvm::none_of(op->getUsers(), llvm::IsaPred<RngBitGeneratorOp>))
    return getPointwiseRule(op);
  ShardingRuleBuilder rule(op);
  rule.add(resultType(op, 0).getDimSize(0), FactorKind::NeedReplication)
      .everywhere(0)
      .block();
  return rule.build();
}

//===----------------------------------------------------------------------===//
// Decompositions of matrices
//===----------------------------------------------------------------------===//

/// Whether the first operand and result are batches of matrices, and the other
/// value given, batches of vectors.
static bool isDecomposition(CustomCallOp op, ShapedType matrices,
                            ShapedType vectors) {
  int64_t rank = matrices.getRank();
  return rank >= 2 && resultType(op, 0).getRank() == rank &&
         vectors.getRank() == rank - 1;
}

/// Eigenvectors and eigenvalues.
static OpShardingRuleAttr getEighRule(CustomCallOp op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 2 ||
      !isDecomposition(op, operandType(op, 0), resultType(op, 1)))
    return {};
  ArrayRef<int64_t> shape = operandType(op, 0).getShape();
  int64_t rank = shape.size();
  ShardingRuleBuilder rule(op);
  rule.addEverywhere(shape.drop_back(2));
  rule.add(shape[rank - 2]).operand(0, rank - 2).result(0, rank - 2);
  rule.add(shape[rank - 1])
      .operand(0, rank - 1)
      .result(0, rank - 1)
      .result(1, rank - 2);
  return rule.build();
}

/// A matrix from or to reflectors, below the diagonal, and their scales: batches are
/// split alike everywhere, matrices and scales not at all.
static OpShardingRuleAttr getReflectorRule(CustomCallOp op, bool takesScales) {
  if (op->getNumOperands() != (takesScales ? 2 : 1) ||
      op->getNumResults() != (takesScales ? 1 : 2))
    return {};
  ShapedType matrices = operandType(op, 0);
  ShapedType scales = takesScales ? operandType(op, 1) : resultType(op, 1);
  if (!isDecomposition(op, matrices, scales))
    return {};
  ArrayRef<int64_t> shape = matrices.getShape();
  int64_t rank = shape.size();
  ShardingRuleBuilder rule(op);
  rule.addEverywhere(shape.drop_back(2));
  for (int64_t dim : {rank - 2, rank - 1})
    rule.add(shape[dim], FactorKind::NeedReplication)
        .operand(0, dim)
        .result(0, dim);
  auto scale = rule.add(scales.getShape().back(), FactorKind::NeedReplication);
  if (takesScales)
    scale.operand(1, rank - 2);
  else
    scale.result(1, rank - 2);
  return rule.build();
}

static OpShardingRuleAttr getQrRule(CustomCallOp op) {
  return getReflectorRule(op, /*takesScales=*/false);
}

static OpShardingRuleAttr getReflectorProductRule(CustomCallOp op) {
  return getReflectorRule(op, /*takesScales=*/true);
}

//===----------------------------------------------------------------------===//
// Largest elements
//===----------------------------------------------------------------------===//

/// The dimension that is searched is the one whose size changes.
static OpShardingRuleAttr getTopKRule(CustomCallOp op) {
  if (!ShardingRuleBuilder::haveEqualRanks(op))
    return {};
  ShapedType operand = operandType(op, 0), result = resultType(op, 0);
  if (operand.getRank() != result.getRank())
    return {};
  ShardingRuleBuilder rule(op);
  for (auto [dim, size] : llvm::enumerate(operand.getShape())) {
    bool isKept = size == result.getDimSize(dim);
    rule.add(size,
             isKept ? FactorKind::PassThrough : FactorKind::NeedReplication)
        .everywhere(dim)
        .block(!isKept);
  }
  return rule.build();
}

/// Values and their indices come in, the best of each part go out.
static OpShardingRuleAttr getPartialReduceRule(CustomCallOp op) {
  if (op->getNumOperands() < 2 || !ShardingRuleBuilder::haveEqualRanks(op))
    return {};
  ShapedType operand = operandType(op, 0), result = resultType(op, 0);
  if (operand.getRank() != result.getRank() ||
      operandType(op, 1).getRank() != operand.getRank())
    return {};
  ShardingRuleBuilder rule(op);
  for (auto [dim, size] : llvm::enumerate(operand.getShape())) {
    if (size == result.getDimSize(dim)) {
      rule.add(size).everywhere(dim);
      continue;
    }
    rule.add(size).operand(0, dim).operand(1, dim);
    rule.add(result.getDimSize(dim), FactorKind::NeedReplication)
        .results(dim)
        .block();
  }
  return rule.build();
}

//===----------------------------------------------------------------------===//
// All targets
//===----------------------------------------------------------------------===//

static OpShardingRuleAttr getNoRule(CustomCallOp) { return {}; }

static OpShardingRuleAttr getCallPointwiseRule(CustomCallOp op) {
  return getPointwiseRule(op);
}

// COMPAT(warn-once): Once per process, not once per program.
static OpShardingRuleAttr warnUnknownTarget(CustomCallOp op) {
  static std::once_flag warned;
  std::call_once(warned, [&] {
    op->emitWarning() << "custom call @" << op.getCallTargetName()
                      << " is unknown to SDY sharding rule registry; "
                         "shardings do not pass through it";
  });
  return {};
}

OpShardingRuleAttr mlir::sdy::getRule(CustomCallOp op) {
  using GetRule = OpShardingRuleAttr (*)(CustomCallOp);
  GetRule getRuleOfTarget =
      llvm::StringSwitch<GetRule>(op.getCallTargetName())
          .Cases({"Cholesky", "CompactWyHelper", "InspectSharding",
                  "InvertDiagBlocksLowerTriangular",
                  "InvertDiagBlocksUpperTriangular", "LayoutConstraint",
                  "MoveToDevice", "MoveToHost", "X64SplitHigh", "X64SplitLow",
                  "_SPMDInternalOp_MultiPad", "_SPMDInternalOp_MultiRotate",
                  "_SPMDInternalOp_MultiSlice", "_SPMDInternalOp_RotateRight",
                  "_SPMDInternalOp_Wrap", "annotate_device_placement",
                  "mhlo.erf", "xla.megascale.provide_metadata"},
                 getCallPointwiseRule)
          .Case("X64Combine", getX64CombineRule)
          .Case("Eigh", getEighRule)
          .Cases({"Qr", "QrDecompositionBlock"}, getQrRule)
          .Case("ProductOfElementaryHouseholderReflectors",
                getReflectorProductRule)
          .Case("mhlo.topk", getTopKRule)
          .Cases({"ApproxTopK", "PartialReduce"}, getPartialReduceRule)
          .Cases({"sdy_testonly", "tpu_custom_call", "xla.debug.Log",
                  "xla_ffi_python_cpu_callback", "xla_ffi_python_gpu_callback",
                  "xla_python_cpu_callback", "xla_python_gpu_callback"},
                 getNoRule)
          .Default(warnUnknownTarget);
  if (getRuleOfTarget != warnUnknownTarget &&
      !ShardingRuleBuilder::canHaveRule(op))
    return {};
  return getRuleOfTarget(op);
}
