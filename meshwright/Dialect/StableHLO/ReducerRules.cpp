//===- ReducerRules.cpp - What the body of a reduction may be -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/ReducerRules.h"
#include "meshwright/Dialect/StableHLO/TypeCompatibility.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::stablehlo;

std::optional<OperandRange> stablehlo::getReturnedValues(Region &region) {
  if (!region.hasOneBlock() || region.front().empty() ||
      !region.front().back().hasTrait<OpTrait::IsTerminator>())
    return std::nullopt;
  return region.front().back().getOperands();
}

LogicalResult stablehlo::verifyPairedOperands(std::optional<Location> location,
                                              ValueRange operands) {
  if (operands.empty() || operands.size() % 2 != 0)
    return emitOptionalError(
        location,
        "expects at least one input and as many init values, but got ",
        operands.size(), " operands");
  TypeRange inputs = operands.take_front(operands.size() / 2).getTypes();
  for (Type input : inputs.drop_front())
    if (!areShapesCompatible(input, inputs[0]))
      return emitOptionalError(
          location, "expects all inputs to have compatible shapes, but got ",
          inputs[0], " and ", input);
  return success();
}

bool stablehlo::isPromotable(Type from, Type to) {
  if (from == to)
    return true;
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return true;
  if (isa<IntegerType>(from) && isa<IntegerType>(to))
    return from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
  auto fromComplex = dyn_cast<ComplexType>(from);
  auto toComplex = dyn_cast<ComplexType>(to);
  if (fromComplex && toComplex)
    return fromComplex.getElementType().getIntOrFloatBitWidth() <=
           toComplex.getElementType().getIntOrFloatBitWidth();
  auto fromQuantized = dyn_cast<quant::QuantizedType>(from);
  auto toQuantized = dyn_cast<quant::QuantizedType>(to);
  return fromQuantized && toQuantized &&
         fromQuantized.getExpressedType() == toQuantized.getExpressedType() &&
         fromQuantized.getStorageTypeIntegralWidth() <=
             toQuantized.getStorageTypeIntegralWidth();
}

/// Same shape; same elements, except that floats may differ in precision.
static bool areSameUpToPrecision(Type a, Type b) {
  Type elementA = getElementTypeOrSelf(a), elementB = getElementTypeOrSelf(b);
  return areShapesCompatible(a, b) &&
         (areElementTypesCompatible(elementA, elementB) ||
          (isa<FloatType>(elementA) && isa<FloatType>(elementB)));
}

static bool isSubsequence(ArrayRef<int64_t> dims, ArrayRef<int64_t> of) {
  for (int64_t dim : of)
    if (!dims.empty() && areDimsCompatible(dims.front(), dim))
      dims = dims.drop_front();
  return dims.empty();
}

/// Rules 2 and 5 for the arguments that go with returned value `index`.
static LogicalResult verifyArguments(Operation *op, Block &block,
                                     unsigned index, Type returned,
                                     ArrayRef<int64_t> resultShape) {
  unsigned numReduced = block.getNumArguments() / 2;
  Type element = block.getArgument(index).getType();
  Type accumulator = block.getArgument(numReduced + index).getType();
  if (!areTypesCompatible(element, returned))
    return op->emitOpError()
           << "type of reduction-region's argument " << index << " is "
           << element << ", but the region returns " << returned << " there";
  if (!areSameUpToPrecision(accumulator, returned))
    return op->emitOpError()
           << "type of reduction-region's argument " << numReduced + index
           << " is " << accumulator << ", but the region returns " << returned
           << " for it";
  if (!isSubsequence(cast<RankedTensorType>(element).getShape(), resultShape))
    return op->emitOpError()
           << "shape of reduction-region's argument " << index << ", "
           << element << ", is no subsequence of the result's shape";
  return success();
}

/// Rules 3 and 4 for one input.
static LogicalResult verifyInput(Operation *op, unsigned index, Type input,
                                 Type init, Type accumulator, Type returned) {
  Type element = getElementTypeOrSelf(returned);
  if (!areShapesCompatible(init, returned) ||
      !isPromotable(getElementTypeOrSelf(init), element))
    return op->emitOpError()
           << "type of init value " << index << ", " << init
           << ", does not promote to what the reduction-region returns, "
           << returned;
  if (!isPromotable(getElementTypeOrSelf(input),
                    getElementTypeOrSelf(accumulator)))
    return op->emitOpError()
           << "element type of input " << index << ", " << input
           << ", does not promote to that of the reduction-region's argument, "
           << accumulator;
  return success();
}

LogicalResult stablehlo::verifyReducer(Operation *op, Region &body,
                                       TypeRange inputs, TypeRange inits,
                                       ArrayRef<int64_t> resultShape) {
  std::optional<OperandRange> returned = getReturnedValues(body);
  if (!returned)
    return success(); // Reported by the verifier of the IR.
  Block &block = body.front();
  if (block.getNumArguments() != 2 * inputs.size())
    return op->emitOpError()
           << "reduction-region must take " << 2 * inputs.size()
           << " parameters, but takes " << block.getNumArguments();
  if (returned->size() != inputs.size())
    return op->emitOpError() << "reduction-region must return " << inputs.size()
                             << " value(s), but returns " << returned->size();
  for (Type type : block.getArgumentTypes())
    if (!isa<RankedTensorType>(type))
      return op->emitOpError()
             << "reduction-region's arguments must be tensors, but one is "
             << type;
  for (auto [index, input, init, type] :
       llvm::enumerate(inputs, inits, returned->getTypes())) {
    if (!isa<RankedTensorType>(type))
      return op->emitOpError()
             << "reduction-region must return tensors, but returns " << type;
    Type accumulator = block.getArgument(inputs.size() + index).getType();
    if (failed(verifyArguments(op, block, index, type, resultShape)) ||
        failed(verifyInput(op, index, input, init, accumulator, type)))
      return failure();
  }
  return success();
}

FailureOr<SmallVector<Type>>
stablehlo::inferReducedTypes(std::optional<Location> location, Region &body,
                             ArrayRef<RankedTensorType> shapes) {
  std::optional<OperandRange> returned = getReturnedValues(body);
  if (!returned)
    return emitOptionalError(
        location, "expects a reduction-region that ends with a terminator");
  if (returned->size() != shapes.size())
    return emitOptionalError(location, "reduction-region must return ",
                             shapes.size(), " value(s), but returns ",
                             returned->size());
  SmallVector<Type> inferred;
  for (auto [shape, type] : llvm::zip_equal(shapes, returned->getTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return emitOptionalError(
          location, "reduction-region must return tensors, but returns ", type);
    // Through get: a quantized element type may not fit every shape.
    inferred.push_back(RankedTensorType::get(
        shape.getShape(), tensor.getElementType(), shape.getEncoding()));
  }
  return inferred;
}
