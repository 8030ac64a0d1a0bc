//===- ChloOps.cpp - Functions, broadcasts, constants ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::chlo;

/// Returns a tensor type of the shape of another one, bounds included.
static Type withElementType(Type type, Type elementType) {
  if (auto ranked = dyn_cast<RankedTensorType>(type))
    return RankedTensorType::get(ranked.getShape(), elementType,
                                 ranked.getEncoding());
  return UnrankedTensorType::get(elementType);
}

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

/// Returns where the dimensions of the shape of lower rank go (C1).
static FailureOr<SmallVector<int64_t>>
placeDimensions(std::optional<Location> location, int64_t lowRank,
                int64_t highRank,
                std::optional<ArrayRef<int64_t>> explicitDims) {
  if (!explicitDims)
    return llvm::to_vector(llvm::seq<int64_t>(highRank - lowRank, highRank));
  if (static_cast<int64_t>(explicitDims->size()) != lowRank)
    return emitOptionalError(location, "broadcast_dimensions has ",
                             explicitDims->size(),
                             " entries, expected one per dimension of the "
                             "operand of lower rank, ",
                             lowRank);
  int64_t next = 0;
  for (int64_t dim : *explicitDims) {
    if (dim < next || dim >= highRank)
      return emitOptionalError(
          location, "broadcast_dimensions [", *explicitDims,
          "] must be increasing and in range [0, ", highRank, ")");
    next = dim + 1;
  }
  return llvm::to_vector(*explicitDims);
}

/// Infers a tensor of elements `elementType` and the shape that two tensor
/// types broadcast to.
static FailureOr<Type>
inferBroadcast(std::optional<Location> location, Type lhs, Type rhs,
               Type elementType,
               std::optional<ArrayRef<int64_t>> explicitDims = std::nullopt) {
  auto low = dyn_cast<RankedTensorType>(lhs);
  auto high = dyn_cast<RankedTensorType>(rhs);
  if (!low || !high)
    return Type(UnrankedTensorType::get(elementType));
  if (low.getRank() > high.getRank())
    std::swap(low, high);
  FailureOr<SmallVector<int64_t>> places =
      placeDimensions(location, low.getRank(), high.getRank(), explicitDims);
  if (failed(places))
    return failure();
  SmallVector<int64_t> shape(high.getShape());
  for (auto [place, size] : llvm::zip_equal(*places, low.getShape())) {
    int64_t &other = shape[place];
    if (size == 1 || size == other)
      continue;
    if (other == 1)
      other = size;
    else if (ShapedType::isDynamic(other))
      other = size;
    else if (ShapedType::isStatic(size)) // (C2)
      return emitOptionalError(location, "operands of types ", lhs, " and ",
                               rhs, " do not broadcast: sizes ", size, " and ",
                               other, " meet");
  }
  return Type(RankedTensorType::get(shape, elementType));
}

/// The same for the operands of a binary operation.
template <typename AdaptorT>
static FailureOr<Type> inferBinary(std::optional<Location> location,
                                   AdaptorT adaptor, Type elementType) {
  Type lhs = adaptor.getLhs().getType(), rhs = adaptor.getRhs().getType();
  if (!stablehlo::areElementTypesCompatible(lhs, rhs)) // (C3)
    return emitOptionalError(
        location, "expects operands of compatible element types, but got ", lhs,
        " and ", rhs);
  return inferBroadcast(location, lhs, rhs, elementType,
                        adaptor.getBroadcastDimensions());
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

#define GET_OP_CLASSES
#include "meshwright/Dialect/CHLO/ChloOps.cpp.inc"

void ChloDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/CHLO/ChloOps.cpp.inc"
      >();
}

FailureOr<Type> BroadcastSelectOp::inferType(std::optional<Location> location,
                                             Adaptor adaptor) {
  Type onTrue = adaptor.getOnTrue().getType();
  Type onFalse = adaptor.getOnFalse().getType();
  Type elementType = getElementTypeOrSelf(onTrue);
  if (elementType != getElementTypeOrSelf(onFalse)) // (C1)
    return emitOptionalError(location,
                             "expects values of one element type, but got ",
                             onTrue, " and ", onFalse);
  FailureOr<Type> type = inferBroadcast(location, onTrue, onFalse, elementType);
  if (succeeded(type)) // (C2)
    type = inferBroadcast(location, adaptor.getPred().getType(), *type,
                          elementType);
  return type;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

FailureOr<Type> ConstantLikeOp::inferType(std::optional<Location> location,
                                          Adaptor adaptor) {
  Type elementType = adaptor.getValue().getType();
  if (!TensorType::isValidElementType(elementType))
    return emitOptionalError(location,
                             "expects a value that a tensor can hold, but got ",
                             adaptor.getValue());
  return withElementType(adaptor.getOperand().getType(), elementType);
}

DenseElementsAttr mlir::chlo::getSplat(RankedTensorType type, TypedAttr value) {
  if (type.getElementType() != value.getType())
    return {};
  if (auto number = dyn_cast<complex::NumberAttr>(value))
    return DenseElementsAttr::get(type, number.getValue());
  return isa<IntegerAttr, FloatAttr>(value)
             ? DenseElementsAttr::get(type, Attribute(value))
             : DenseElementsAttr();
}

OpFoldResult ConstantLikeOp::fold(FoldAdaptor) {
  auto operand = dyn_cast<RankedTensorType>(getOperand().getType());
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!operand || !operand.hasStaticShape() || !type || !type.hasStaticShape())
    return {};
  return getSplat(type, getValue());
}

//===----------------------------------------------------------------------===//
// TopKOp
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Type>>
TopKOp::inferTypes(std::optional<Location> location, Adaptor adaptor) {
  Type elementType = getElementTypeOrSelf(adaptor.getOperand());
  Type indexType = IntegerType::get(elementType.getContext(), 32);
  auto operand = dyn_cast<RankedTensorType>(adaptor.getOperand().getType());
  if (!operand)
    return SmallVector<Type>{UnrankedTensorType::get(elementType),
                             UnrankedTensorType::get(indexType)};
  if (operand.getRank() < 1) // (C1)
    return emitOptionalError(
        location, "operand's rank must be at least 1, but its type is ",
        operand);
  int64_t k = adaptor.getK();
  SmallVector<int64_t> shape(operand.getShape());
  if (k < 0 || (ShapedType::isStatic(shape.back()) && shape.back() < k)) // (C2)
    return emitOptionalError(
        location, "operand's last dimension must be at least ", k,
        ", which must not be negative, but its type is ", operand);
  shape.back() = k;
  return SmallVector<Type>{RankedTensorType::get(shape, elementType),
                           RankedTensorType::get(shape, indexType)};
}
