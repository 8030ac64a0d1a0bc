//===- OptimizationPatterns.cpp - What the rewrites share -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "meshwright/Dialect/StableHLO/ResultAttrs.h"

using namespace mlir;
using namespace mlir::stablehlo;

DenseElementsAttr mlir::stablehlo::getConstant(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || constant.getValue().getShapedType() != value.getType())
    return {};
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !isa<IntegerType, FloatType, ComplexType>(
                       elements.getType().getElementType()))
    return {};
  return elements;
}

Attribute mlir::stablehlo::getSplat(Value value) {
  DenseElementsAttr elements = getConstant(value);
  return elements && elements.isSplat() ? elements.getSplatValue<Attribute>()
                                        : Attribute();
}

bool mlir::stablehlo::isConstantZero(Value value) {
  Attribute splat = getSplat(value);
  if (auto number = dyn_cast_or_null<FloatAttr>(splat))
    return number.getValue().isZero();
  auto number = dyn_cast_or_null<IntegerAttr>(splat);
  return number && number.getValue().isZero();
}

bool mlir::stablehlo::isConstantOne(Value value) {
  Attribute splat = getSplat(value);
  if (auto number = dyn_cast_or_null<FloatAttr>(splat))
    return number.getValue().isExactlyValue(1.0);
  auto number = dyn_cast_or_null<IntegerAttr>(splat);
  return number && number.getValue().isOne();
}

bool mlir::stablehlo::isConstantAllOnes(Value value) {
  auto number = dyn_cast_or_null<IntegerAttr>(getSplat(value));
  return number && number.getValue().isAllOnes();
}

std::optional<SmallVector<int64_t>>
mlir::stablehlo::getConstantIntegers(Value value) {
  DenseElementsAttr elements = getConstant(value);
  if (!elements || !isa<IntegerType>(elements.getType().getElementType()))
    return std::nullopt;
  bool isUnsigned = elements.getType().getElementType().isUnsignedInteger();
  SmallVector<int64_t> numbers;
  for (APInt number : elements.getValues<APInt>())
    numbers.push_back(isUnsigned && number.getActiveBits() < 64
                          ? static_cast<int64_t>(number.getZExtValue())
                      : isUnsigned ? std::numeric_limits<int64_t>::max()
                                   : number.getSExtValue());
  return numbers;
}

bool mlir::stablehlo::isStartedAsynchronously(Operation *op) {
  return isa_and_nonnull<AsyncStartOp>(op->getParentOp());
}

static Attribute mergeAttr(StringAttr name, Attribute winner, Attribute other) {
  auto winnerEntries = dyn_cast<DictionaryAttr>(winner);
  auto otherEntries = dyn_cast_or_null<DictionaryAttr>(other);
  if (name != "mhlo.frontend_attributes" || !winnerEntries || !otherEntries)
    return winner;
  NamedAttrList merged(otherEntries);
  for (NamedAttribute entry : winnerEntries)
    merged.set(entry.getName(), entry.getValue());
  return merged.getDictionary(winner.getContext());
}

void mlir::stablehlo::replaceKeepingAttrs(PatternRewriter &rewriter,
                                          Operation *op, Value replacement) {
  Operation *producer = replacement.getDefiningOp();
  if (producer && producer->getNumResults() == 1 &&
      !op->getDiscardableAttrDictionary().empty())
    rewriter.modifyOpInPlace(producer, [&] {
      for (NamedAttribute attr : op->getDiscardableAttrs()) {
        if (describesOperands(attr)) // Those of `op`.
          continue;
        producer->setDiscardableAttr(
            attr.getName(),
            mergeAttr(attr.getName(), attr.getValue(),
                      producer->getDiscardableAttr(attr.getName())));
      }
    });
  rewriter.replaceOp(op, replacement);
}

void mlir::stablehlo::replaceByConstant(PatternRewriter &rewriter,
                                        Operation *op,
                                        DenseElementsAttr value) {
  auto constant = ConstantOp::create(rewriter, op->getLoc(),
                                     op->getResult(0).getType(), value);
  replaceKeepingAttrs(rewriter, op, constant->getResult(0));
}
