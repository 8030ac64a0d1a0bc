//===- Traits.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Checks the first type of the operation with every other one, operands before
/// results.
static LogicalResult verifyAgreement(Operation *op, StringRef what,
                                     function_ref<bool(Type, Type)> agree) {
  Type first = op->getNumOperands() ? op->getOperand(0).getType()
                                    : op->getResult(0).getType();
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (type != first && !agree(first, type))
        return op->emitOpError() << "requires compatible " << what
                                 << " for all operands and results, but got "
                                 << first << " and " << type;
  return success();
}

LogicalResult stablehlo::detail::verifyCompatibleTypes(Operation *op) {
  return verifyAgreement(
      op, "types", [](Type a, Type b) { return areTypesCompatible(a, b); });
}

LogicalResult stablehlo::detail::verifyCompatibleElementTypes(Operation *op) {
  return verifyAgreement(op, "element types", areElementTypesCompatible);
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
