//===- CrossMeshReduction.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::mpmd;

stablehlo::ReduceOp mpmd::getReduceOfPieces(stablehlo::ConcatenateOp concat) {
  if (concat->getNumOperands() == 0 || !concat->hasOneUse() ||
      !llvm::all_equal(concat->getOperandTypes()))
    return {};
  auto reduce = dyn_cast<stablehlo::ReduceOp>(*concat->user_begin());
  if (!reduce || reduce.getInputs().size() != 1 ||
      reduce.getInputs().front() != concat->getResult(0) ||
      reduce.getDimensions().size() != 1 ||
      reduce.getDimensions().front() !=
          static_cast<int64_t>(concat.getDimension()))
    return {};
  auto pieceType = dyn_cast<RankedTensorType>(concat->getOperand(0).getType());
  int64_t dimension = concat.getDimension();
  if (!pieceType || dimension < 0 || dimension >= pieceType.getRank() ||
      pieceType.getDimSize(dimension) != 1)
    return {};
  return reduce;
}

stablehlo::ConcatenateOp mpmd::getConcatOfPieces(stablehlo::ReduceOp reduce) {
  if (reduce.getInputs().empty())
    return {};
  auto concat =
      reduce.getInputs().front().getDefiningOp<stablehlo::ConcatenateOp>();
  if (!concat || getReduceOfPieces(concat) != reduce)
    return {};
  return concat;
}

std::optional<ReductionType>
mpmd::getBodyReductionKind(stablehlo::ReduceOp reduce) {
  Region &body = reduce->getRegion(0);
  if (!body.hasOneBlock())
    return std::nullopt;
  return getReductionKind(body.front());
}

static bool isIdentity(const APInt &number, bool isUnsigned,
                       ReductionType kind) {
  switch (kind) {
  case ReductionType::None:
    return false;
  case ReductionType::Add:
  case ReductionType::Or:
    return number.isZero();
  case ReductionType::Mul:
    return number.isOne();
  case ReductionType::And:
    return number.isAllOnes();
  case ReductionType::Max:
    return isUnsigned ? number.isMinValue() : number.isMinSignedValue();
  case ReductionType::Min:
    return isUnsigned ? number.isMaxValue() : number.isMaxSignedValue();
  }
  llvm_unreachable("all kinds are handled");
}

static bool isIdentity(const APFloat &number, ReductionType kind) {
  // The largest number represents infinity in types that have none.
  bool isLargest = APFloat::semanticsHasInf(number.getSemantics())
                       ? number.isInfinity()
                       : number.isLargest();
  switch (kind) {
  case ReductionType::Add:
    return number.isZero();
  case ReductionType::Mul:
    return number.isExactlyValue(1.0);
  case ReductionType::Max:
    return isLargest && number.isNegative();
  case ReductionType::Min:
    return isLargest && !number.isNegative();
  default:
    return false;
  }
}

std::optional<ReductionType> mpmd::getKindAcrossMeshes(Operation *op) {
  auto concat = dyn_cast<stablehlo::ConcatenateOp>(op);
  if (!concat)
    return getReductionKind(op);
  if (stablehlo::ReduceOp reduce = getReduceOfPieces(concat))
    return getBodyReductionKind(reduce);
  return std::nullopt;
}

bool mpmd::isIdentity(Value init, ReductionType kind) {
  Type type = getElementTypeOrSelf(init);
  if (APInt number; matchPattern(init, m_ConstantInt(&number)))
    return ::isIdentity(number, type.isUnsignedInteger() || type.isInteger(1),
                        kind);
  if (APFloat number(0.0); matchPattern(init, m_ConstantFloat(&number)))
    return ::isIdentity(number, kind);
  return false;
}

std::optional<ReductionType> mpmd::getMarkedReduction(Operation *op) {
  if (auto attr =
          dyn_cast_or_null<ReductionAttr>(op->getDiscardableAttr(kReduceAttr)))
    return attr.getValue();
  return std::nullopt;
}

void mpmd::eraseConsents(func::FuncOp func) {
  for (auto reduce : llvm::make_early_inc_range(func.getOps<ReduceOp>()))
    if (reduce.getReduction() == ReductionType::None &&
        reduce->getNumOperands() == 1 &&
        reduce->getOperand(0).getType() == reduce.getType()) {
      reduce.getResult().replaceAllUsesWith(reduce->getOperand(0));
      reduce.erase();
    }
}
