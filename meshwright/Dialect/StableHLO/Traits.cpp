//===- Traits.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Calls `check` on the first type paired with every other type of the
/// operation, operands before results.
static bool firstAgreesWithAll(Operation *op,
                               llvm::function_ref<bool(Type, Type)> check) {
  Type first = op->getNumOperands() ? op->getOperand(0).getType()
                                    : op->getResult(0).getType();
  auto agrees = [&](Type type) { return type == first || check(first, type); };
  return llvm::all_of(op->getOperandTypes(), agrees) &&
         llvm::all_of(op->getResultTypes(), agrees);
}

LogicalResult stablehlo::detail::verifyCompatibleTypes(Operation *op) {
  if (firstAgreesWithAll(
          op, [](Type a, Type b) { return areTypesCompatible(a, b); }))
    return success();
  return op->emitOpError(
      "requires compatible types for all operands and results");
}

LogicalResult stablehlo::detail::verifyCompatibleElementTypes(Operation *op) {
  if (firstAgreesWithAll(op, areElementTypesCompatible))
    return success();
  return op->emitOpError(
      "requires compatible element types for all operands and results");
}

static bool isStatic(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return !shaped || shaped.hasStaticShape();
}

Speculation::Speculatability
stablehlo::detail::speculateIfStaticOperands(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), isStatic)
             ? Speculation::Speculatable
             : Speculation::NotSpeculatable;
}

Speculation::Speculatability
stablehlo::detail::speculateIfStaticDimsCarry(Operation *op) {
  auto operand = cast<RankedTensorType>(op->getOperand(0).getType());
  if (operand.hasStaticShape())
    return Speculation::Speculatable;
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  for (auto [from, to] : llvm::zip(operand.getShape(), result.getShape()))
    if (ShapedType::isDynamic(from) && ShapedType::isStatic(to))
      return Speculation::NotSpeculatable;
  return Speculation::Speculatable;
}
