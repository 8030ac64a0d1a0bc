//===- WindowOps.cpp - Reductions and scatters over windows ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/ReducerRules.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Dialect/StableHLO/WindowShape.h"

using namespace mlir;
using namespace mlir::stablehlo;

//===----------------------------------------------------------------------===//
// ReduceWindowOp
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Type>>
ReduceWindowOp::inferTypes(std::optional<Location> location, Adaptor adaptor) {
  if (failed(verifyPairedOperands(location, adaptor.getOperands()))) // (C1)
    return failure();
  TypeRange inputs = adaptor.getInputs().getTypes();
  int64_t rank = cast<RankedTensorType>(inputs[0]).getRank();
  if (static_cast<int64_t>(adaptor.getWindowDimensions().size()) != rank)
    return emitOptionalError(
        location, "expects window-dimensions size == input rank, but got ",
        adaptor.getWindowDimensions().size(), " and ", rank);
  auto optional = [](std::optional<ArrayRef<int64_t>> list) {
    return list.value_or(ArrayRef<int64_t>());
  };
  auto window = buildWindow( // (C2), (C3)
      location, {adaptor.getWindowDimensions(),
                 optional(adaptor.getWindowStrides()),
                 adaptor.getPaddingAttr(),
                 optional(adaptor.getBaseDilations()),
                 optional(adaptor.getWindowDilations()),
                 {}});
  if (failed(window))
    return failure();
  SmallVector<RankedTensorType> shapes;
  for (Type input : inputs) {
    auto tensor = cast<RankedTensorType>(input);
    auto counts = countWindows(location, tensor.getShape(), *window);
    if (failed(counts))
      return failure();
    shapes.push_back(RankedTensorType::get(*counts, tensor.getElementType()));
  }
  return inferReducedTypes(location, adaptor.getBody(), shapes);
}

LogicalResult ReduceWindowOp::verify() {
  if (getNumResults() == 0)
    return success();   // Reported by inference, which is verified later.
  return verifyReducer( // (C4)
      *this, getBody(), getInputs().getTypes(), getInitValues().getTypes(),
      cast<RankedTensorType>(getResult(0).getType()).getShape());
}

//===----------------------------------------------------------------------===//
// SelectAndScatterOp
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Type>>
SelectAndScatterOp::inferTypes(std::optional<Location> location,
                               Adaptor adaptor) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  return inferReducedTypes(location, adaptor.getScatter(), operand); // (C6)
}

/// Checks (C1).
static LogicalResult verifySelect(SelectAndScatterOp op) {
  std::optional<OperandRange> returned = getReturnedValues(op.getSelect());
  if (!returned)
    return success(); // Reported by the verifier of the IR.
  Type scalar =
      RankedTensorType::get({}, op.getOperand().getType().getElementType());
  Block &select = op.getSelect().front();
  if (select.getNumArguments() != 2)
    return op.emitOpError()
           << "expects the select-region to take 2 parameters, but takes "
           << select.getNumArguments();
  for (Type type : select.getArgumentTypes())
    if (!areTypesCompatible(type, scalar))
      return op.emitOpError()
             << "expects the type of select-region's parameter to be " << scalar
             << ", but got " << type;
  if (returned->size() != 1 ||
      !isTensorOf(returned->front().getType(), kPredicate, /*rank=*/0))
    return op.emitOpError() << "expects the select-region to return one "
                               "tensor<i1>, but it returns ("
                            << returned->getTypes() << ")";
  return success();
}

LogicalResult SelectAndScatterOp::verify() {
  if (failed(verifySelect(*this)))
    return failure();
  RankedTensorType operand = getOperand().getType();
  RankedTensorType source = getSource().getType();
  Type scalar = RankedTensorType::get({}, source.getElementType());
  if (failed(verifyReducer(*this, getScatter(), {scalar}, // (C2)
                           {getInitValue().getType()}, {})))
    return failure();
  ArrayRef<int64_t> sizes = getWindowDimensions().value_or(ArrayRef<int64_t>());
  if (static_cast<int64_t>(sizes.size()) != operand.getRank()) // (C3)
    return emitOpError()
           << "expects window-dimensions size == operand rank, but got "
           << sizes.size() << " and " << operand.getRank();
  auto window = buildWindow( // (C3), (C4)
      getLoc(), {sizes,
                 getWindowStrides().value_or(ArrayRef<int64_t>()),
                 getPaddingAttr(),
                 {},
                 {},
                 {}});
  if (failed(window))
    return failure();
  auto expected = countWindows(getLoc(), operand.getShape(), *window);
  if (failed(expected))
    return failure();
  if (!areShapesCompatible(source.getShape(), *expected)) // (C5)
    return emitOpError()
           << "expects source to have one element per window, shape ["
           << *expected << "], but its type is " << source;
  return success();
}
