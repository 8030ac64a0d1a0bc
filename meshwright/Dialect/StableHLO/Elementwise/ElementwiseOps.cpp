//===- ElementwiseOps.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Assembly.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// The operand's type with complex elements replaced by their parts.
static Type getPartType(Value operand) {
  auto type = cast<RankedTensorType>(operand.getType());
  auto complex = dyn_cast<ComplexType>(type.getElementType());
  return complex ? type.clone(complex.getElementType()) : type;
}

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Elementwise/ElementwiseOps.cpp.inc"

void StablehloDialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/StableHLO/Elementwise/ElementwiseOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Unary operations
//===----------------------------------------------------------------------===//

FailureOr<Type> IsFiniteOp::inferType(std::optional<Location>,
                                      Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  return type.clone(IntegerType::get(type.getContext(), 1));
}

FailureOr<Type> UniformDequantizeOp::inferType(std::optional<Location>,
                                               Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto quantized = cast<quant::QuantizedType>(type.getElementType());
  return type.clone(quantized.getExpressedType());
}

LogicalResult UniformQuantizeOp::verify() {
  Type from = getOperand().getType().getElementType();
  if (auto quantized = dyn_cast<quant::QuantizedType>(from))
    from = quantized.getExpressedType();
  Type to =
      cast<quant::QuantizedType>(getType().getElementType()).getExpressedType();
  if (from != to) // (C1)
    return emitOpError() << "result expresses " << to << ", but the operand "
                         << from << "; expected the same expressed type";
  return success();
}

//===----------------------------------------------------------------------===//
// AddOp
//===----------------------------------------------------------------------===//

LogicalResult AddOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  auto lhs = cast<RankedTensorType>(adaptor.getLhs().getType());
  auto rhs = cast<RankedTensorType>(adaptor.getRhs().getType());
  // A sum is quantized per axis as soon as one operand is.
  Type element = isa<quant::UniformQuantizedPerAxisType>(rhs.getElementType())
                     ? rhs.getElementType()
                     : lhs.getElementType();
  FailureOr<Type> type =
      inferMostSpecificType(location, {lhs.clone(element), rhs.clone(element)});
  if (failed(type))
    return failure();
  inferred.push_back(*type);
  return success();
}

bool AddOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange written) {
  // The verifier has compared the element types.
  return inferred.size() == 1 && written.size() == 1 &&
         areTypesCompatible(inferred[0],
                            cast<RankedTensorType>(written[0])
                                .clone(getElementTypeOrSelf(inferred[0])));
}

/// Returns the dimension that all per-axis types among `types` agree on, -1 if
/// there are none, nothing if they disagree.
static std::optional<int64_t> getCommonAxis(ArrayRef<Type> types) {
  int64_t axis = -1;
  for (Type type : types) {
    auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(type);
    if (!perAxis)
      continue;
    if (axis >= 0 && axis != perAxis.getQuantizedDimension())
      return std::nullopt;
    axis = perAxis.getQuantizedDimension();
  }
  return axis;
}

LogicalResult AddOp::verify() {
  Type lhs = getElementTypeOrSelf(getLhs()),
       rhs = getElementTypeOrSelf(getRhs());
  Type result = getElementTypeOrSelf(getResult());
  if (lhs == rhs && lhs == result)
    return success();
  auto lhsQuant = dyn_cast<quant::QuantizedType>(lhs);
  auto rhsQuant = dyn_cast<quant::QuantizedType>(rhs);
  auto resultQuant = dyn_cast<quant::QuantizedType>(result);
  if (!lhsQuant && !rhsQuant && !resultQuant) // (C1)
    return emitOpError() << "requires the same element type for all operands "
                            "and results, but got "
                         << lhs << ", " << rhs << " and " << result;
  if (!lhsQuant || !rhsQuant || !resultQuant) // (C2)
    return emitOpError() << "requires the same element type for all operands "
                            "and results: either all are quantized or none, "
                            "but got "
                         << lhs << ", " << rhs << " and " << result;
  for (quant::QuantizedType other : {rhsQuant, resultQuant}) {
    if (lhsQuant.getStorageType() != other.getStorageType())
      return emitOpError() << "requires the same storage type, but got "
                           << lhsQuant.getStorageType() << " and "
                           << other.getStorageType();
    if (lhsQuant.getExpressedType() != other.getExpressedType())
      return emitOpError() << "requires the same expressed type, but got "
                           << lhsQuant.getExpressedType() << " and "
                           << other.getExpressedType();
  }
  bool perAxis = isa<quant::UniformQuantizedPerAxisType>(lhs) ||
                 isa<quant::UniformQuantizedPerAxisType>(rhs);
  if (perAxis != isa<quant::UniformQuantizedPerAxisType>(result)) // (C3)
    return emitOpError() << "result is quantized "
                         << (perAxis
                                 ? "per tensor, but an operand per axis"
                                 : "per axis, but both operands per tensor");
  if (!getCommonAxis({lhs, rhs, result}))
    return emitOpError()
           << "requires the same quantization dimension wherever operands and "
              "result are quantized per axis";
  return success();
}

//===----------------------------------------------------------------------===//
// ComplexOp, CompareOp
//===----------------------------------------------------------------------===//

/// Infers the most specific shape of two operands, with other elements.
static FailureOr<Type> inferShapeOfBoth(std::optional<Location> location,
                                        Value lhs, Value rhs,
                                        Type elementType) {
  Type types[] = {cast<RankedTensorType>(lhs.getType()).clone(elementType),
                  cast<RankedTensorType>(rhs.getType()).clone(elementType)};
  return inferMostSpecificType(location, types);
}

FailureOr<Type> ComplexOp::inferType(std::optional<Location> location,
                                     Adaptor adaptor) {
  return inferShapeOfBoth(
      location, adaptor.getLhs(), adaptor.getRhs(),
      ComplexType::get(getElementTypeOrSelf(adaptor.getLhs())));
}

FailureOr<Type> CompareOp::inferType(std::optional<Location> location,
                                     Adaptor adaptor) {
  Value lhs = adaptor.getLhs(), rhs = adaptor.getRhs();
  if (!areElementTypesCompatible(lhs.getType(), rhs.getType())) // (C1)
    return emitOptionalError(
        location, "requires compatible element types, but got ",
        getElementTypeOrSelf(lhs), " and ", getElementTypeOrSelf(rhs));
  return inferShapeOfBoth(location, lhs, rhs,
                          IntegerType::get(lhs.getContext(), 1));
}

//===----------------------------------------------------------------------===//
// SelectOp, ClampOp
//===----------------------------------------------------------------------===//

/// Returns true for rank 0 or a shape compatible with that of `type`.
static bool isScalarOrShapedLike(Type scalarOrTensor, Type type) {
  auto tensor = cast<RankedTensorType>(scalarOrTensor);
  return tensor.getRank() == 0 || areShapesCompatible(tensor, type);
}

FailureOr<Type> SelectOp::inferType(std::optional<Location> location,
                                    Adaptor adaptor) {
  Type onTrue = adaptor.getOnTrue().getType();
  Type onFalse = adaptor.getOnFalse().getType();
  if (!areTypesCompatible(onTrue, onFalse)) // (C1)
    return emitOptionalError(
        location, "requires compatible types for non-predicate operands, got ",
        onTrue, " and ", onFalse);
  if (!isScalarOrShapedLike(adaptor.getPred().getType(), onTrue)) // (C2)
    return emitOptionalError(location,
                             "requires a predicate of rank 0 or of the same "
                             "shape as on_true, got ",
                             adaptor.getPred().getType(), " for ", onTrue);
  return inferMostSpecificType(location, {onTrue, onFalse});
}

FailureOr<Type> ClampOp::inferType(std::optional<Location> location,
                                   Adaptor adaptor) {
  Type type = adaptor.getOperand().getType();
  for (auto [name, limit] :
       {std::pair("min", adaptor.getMin()), std::pair("max", adaptor.getMax())})
    if (!isScalarOrShapedLike(limit.getType(), type)) // (C1)
      return emitOptionalError(location, name,
                               " shape is not scalar and does not match the "
                               "operand: got ",
                               limit.getType(), " for ", type);
  return type;
}
