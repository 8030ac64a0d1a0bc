//===- ShapeOps.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Assembly.h"
#include "meshwright/Dialect/StableHLO/ConstantOperands.h"
#include "meshwright/Dialect/StableHLO/ShapeArithmetic.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

#define GET_OP_CLASSES
#include "meshwright/Dialect/StableHLO/Shape/ShapeOps.cpp.inc"

void StablehloDialect::registerShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/StableHLO/Shape/ShapeOps.cpp.inc"
      >();
}

/// Verifies that `dims` are unique and less than `rank`.
static LogicalResult verifyUniqueDims(std::optional<Location> location,
                                      StringRef name, ArrayRef<int64_t> dims,
                                      int64_t rank) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return emitOptionalError(
          location, name, " has entry ", dim,
          ", which is out of range; expected 0 <= entry < ", rank);
    if (seen.test(dim))
      return emitOptionalError(location, name, " has entry ", dim,
                               " twice; expected unique entries");
    seen.set(dim);
  }
  return success();
}

/// Verifies that a list has one entry per dimension.
static LogicalResult verifyLength(std::optional<Location> location,
                                  StringRef name, int64_t length,
                                  int64_t rank) {
  if (length == rank)
    return success();
  return emitOptionalError(location, name, " has ", length,
                           " entries, but the rank of the operand is ", rank);
}

/// Verifies that a value is a dimension.
static LogicalResult verifyDim(std::optional<Location> location, int64_t dim,
                               int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return emitOptionalError(location, "dimension ", dim,
                           " is out of range, expected less than the rank ",
                           rank);
}

/// Verifies that scalar operands have one element type.
static LogicalResult verifySameIndexType(std::optional<Location> location,
                                         ValueRange indices) {
  for (Value index : indices)
    if (getElementTypeOrSelf(index) != getElementTypeOrSelf(indices.front()))
      return emitOptionalError(
          location, "start indices must have same element type, got ",
          getElementTypeOrSelf(indices.front()), " and ",
          getElementTypeOrSelf(index));
  return success();
}

static Speculation::Speculatability speculatableIf(bool condition) {
  return condition ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

/// Returns the bound of a dimension: its size if that is static.
static int64_t getLimit(RankedTensorType type, int64_t dim) {
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  ArrayRef<int64_t> bounds = getBounds(type);
  return bounds.empty() ? ShapedType::kDynamic : bounds[dim];
}

static SmallVector<int64_t> getLimits(RankedTensorType type) {
  return llvm::map_to_vector(llvm::seq<int64_t>(type.getRank()),
                             [&](int64_t dim) { return getLimit(type, dim); });
}

/// Returns a type with the given shape; `limits` bound its dynamic dimensions.
static RankedTensorType getBoundedType(RankedTensorType like,
                                       ArrayRef<int64_t> shape,
                                       SmallVector<int64_t> limits) {
  for (auto [size, limit] : llvm::zip_equal(shape, limits))
    if (ShapedType::isStatic(size))
      limit = ShapedType::kDynamic;
  return RankedTensorType::get(shape, like.getElementType(),
                               getBoundsEncoding(like.getContext(), limits));
}

//===----------------------------------------------------------------------===//
// ReshapeOp, DynamicReshapeOp
//===----------------------------------------------------------------------===//

static LogicalResult verifySameNumElements(Operation *op, RankedTensorType from,
                                           RankedTensorType to) {
  if (!from.hasStaticShape() || !to.hasStaticShape() ||
      haveAsManyElements(from, to))
    return success();
  auto describe = [](RankedTensorType type) {
    std::optional<int64_t> count = countElements(type);
    return count ? std::to_string(*count) : "more than 2^63 - 1";
  };
  return op->emitOpError() << "number of output elements (" << describe(to)
                           << ") doesn't match expected number of elements ("
                           << describe(from) << ")";
}

/// The dimension that the scales lie along, if they do.
static std::optional<int64_t> getAxis(RankedTensorType type) {
  auto axis =
      dyn_cast<quant::UniformQuantizedPerAxisType>(type.getElementType());
  return axis ? std::optional<int64_t>(axis.getQuantizedDimension())
              : std::nullopt;
}

/// Returns the element type once the dimension that the scales lie along, if
/// they do, has become dimension `dim`.
static Type moveAxis(Type elementType, int64_t dim) {
  auto axis = dyn_cast<quant::UniformQuantizedPerAxisType>(elementType);
  if (!axis)
    return elementType;
  return quant::UniformQuantizedPerAxisType::get(
      axis.getFlags(), axis.getStorageType(), axis.getExpressedType(),
      axis.getScales(), axis.getZeroPoints(), dim, axis.getStorageTypeMin(),
      axis.getStorageTypeMax());
}

static LogicalResult verifyElementTypes(Operation *op, Type moved, Type to) {
  if (areElementTypesCompatible(moved, to))
    return success();
  return op->emitOpError() << "requires compatible element types, but got "
                           << moved << " and " << to;
}

/// The quantized dimension keeps its size and what lies before it.
static LogicalResult verifyAxisKept(Operation *op, RankedTensorType from,
                                    RankedTensorType to) {
  std::optional<int64_t> fromAxis = getAxis(from), toAxis = getAxis(to);
  if (!fromAxis || !toAxis)
    return verifyElementTypes(op, from.getElementType(), to.getElementType());
  if (failed(verifyElementTypes(op, moveAxis(from.getElementType(), *toAxis),
                                to.getElementType())))
    return failure();
  int64_t fromDim = *fromAxis, toDim = *toAxis;
  auto fromBefore = countElements(from.getShape().take_front(fromDim));
  auto toBefore = countElements(to.getShape().take_front(toDim));
  if (areDimsCompatible(from.getDimSize(fromDim), to.getDimSize(toDim)) &&
      (!fromBefore || !toBefore || *fromBefore == *toBefore))
    return success();
  return op->emitOpError() << "moves the quantized dimension from " << from
                           << " to " << to
                           << "; expected the same size and the same number of "
                              "elements before it";
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (failed(verifySameNumElements(*this, from, to))) // (C1)
    return failure();
  return verifyAxisKept(*this, from, to); // (C2)
}

LogicalResult DynamicReshapeOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (failed(verifyAxisKept(*this, from, to))) // (C1)
    return failure();
  if (failed(verifyShapeOperand(*this, "output_shape", getOutputShape(), to)))
    return failure(); // (C2)
  // (C3)
  SmallVector<int64_t> shape;
  if (matchConstantOperand(getOutputShape(), shape) &&
      llvm::none_of(shape, [](int64_t size) { return size < 0; }))
    to = RankedTensorType::get(shape, to.getElementType());
  return verifySameNumElements(*this, from, to);
}

//===----------------------------------------------------------------------===//
// BitcastConvertOp
//===----------------------------------------------------------------------===//

static int64_t getBitWidth(Type elementType) {
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return 2 * getBitWidth(complex.getElementType());
  if (auto quantized = dyn_cast<quant::QuantizedType>(elementType))
    return quantized.getStorageTypeIntegralWidth();
  return elementType.getIntOrFloatBitWidth();
}

LogicalResult BitcastConvertOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (isa<ComplexType>(from.getElementType()) !=
      isa<ComplexType>(to.getElementType())) // (C1)
    return emitOpError() << "cannot convert between real and complex types, "
                            "but got "
                         << from << " and " << to;
  int64_t fromWidth = getBitWidth(from.getElementType());
  int64_t toWidth = getBitWidth(to.getElementType());
  if (fromWidth == toWidth) { // (C2)
    if (areShapesCompatible(from, to))
      return success();
    return emitOpError() << "elements of equal width keep the shape, but got "
                         << from << " and " << to;
  }
  RankedTensorType narrow = fromWidth < toWidth ? from : to; // (C3)
  RankedTensorType wide = fromWidth < toWidth ? to : from;
  if (narrow.getRank() != wide.getRank() + 1)
    return emitOpError() << "rank of the narrower type " << narrow
                         << " must be one more than that of the wider type "
                         << wide;
  if (!areShapesCompatible(narrow.getShape().drop_back(), wide.getShape()))
    return emitOpError() << "leading dimensions differ between " << narrow
                         << " and " << wide;
  int64_t parts = narrow.getShape().back();
  if (ShapedType::isStatic(parts) &&
      multiplySizes(parts, std::min(fromWidth, toWidth)) !=
          std::max(fromWidth, toWidth))
    return emitOpError() << "requires compatible bit widths: the last "
                            "dimension of "
                         << narrow << " must hold one element of " << wide;
  return success();
}

Speculation::Speculatability BitcastConvertOp::getSpeculatability() {
  for (auto [from, to] :
       llvm::zip(getOperand().getType().getShape(), getType().getShape()))
    if (ShapedType::isDynamic(from) && ShapedType::isStatic(to))
      return Speculation::NotSpeculatable;
  RankedTensorType from = getOperand().getType();
  // The parts of a wider result must be known to fit.
  return speculatableIf(from.getRank() <= getType().getRank() ||
                        !from.isDynamicDim(from.getRank() - 1));
}

//===----------------------------------------------------------------------===//
// TransposeOp, ReverseOp
//===----------------------------------------------------------------------===//

FailureOr<Type> TransposeOp::inferType(std::optional<Location> location,
                                       Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  if (failed(verifyLength(location, "permutation", permutation.size(), // (C1)
                          type.getRank())) ||
      failed(verifyUniqueDims(location, "permutation", permutation,
                              type.getRank())))
    return failure();
  SmallVector<int64_t> shape, limits;
  for (int64_t dim : permutation) {
    shape.push_back(type.getDimSize(dim));
    limits.push_back(getLimit(type, dim));
  }
  Type elementType = type.getElementType();
  if (std::optional<int64_t> axis = getAxis(type))
    elementType = moveAxis(elementType, llvm::find(permutation, *axis) -
                                            permutation.begin());
  return getBoundedType(type.clone(elementType), shape, std::move(limits));
}

Speculation::Speculatability TransposeOp::getSpeculatability() {
  RankedTensorType from = getOperand().getType();
  for (auto [dim, size] :
       llvm::zip_equal(getPermutation(), getType().getShape()))
    if (from.isDynamicDim(dim) && ShapedType::isStatic(size))
      return Speculation::NotSpeculatable;
  return Speculation::Speculatable;
}

FailureOr<Type> ReverseOp::inferType(std::optional<Location> location,
                                     Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  if (failed(verifyUniqueDims(location, "dimensions", // (C1)
                              adaptor.getDimensions(), type.getRank())))
    return failure();
  return type;
}

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

FailureOr<Type> BroadcastOp::inferType(std::optional<Location> location,
                                       Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  SmallVector<int64_t> shape(adaptor.getBroadcastSizes());
  for (int64_t size : shape)
    if (size < 0) // (C1)
      return emitOptionalError(location, "broadcast with negative dimension ",
                               "size ", size);
  SmallVector<int64_t> limits(shape);
  llvm::append_range(shape, type.getShape());
  llvm::append_range(limits, getLimits(type));
  return getBoundedType(type, shape, std::move(limits));
}

/// Verifies where the dimensions of the operand go, and that they fit there.
static LogicalResult verifyBroadcast(Operation *op, RankedTensorType from,
                                     RankedTensorType to,
                                     ArrayRef<int64_t> dims) {
  if (static_cast<int64_t>(dims.size()) != from.getRank())
    return op->emitOpError()
           << "broadcast_dimensions size (" << dims.size()
           << ") does not match operand rank (" << from.getRank() << ")";
  if (failed(verifyUniqueDims(op->getLoc(), "broadcast_dimensions", dims,
                              to.getRank())))
    return failure();
  for (auto [index, dim] : llvm::enumerate(dims)) {
    int64_t fromSize = from.getDimSize(index), toSize = to.getDimSize(dim);
    if (fromSize != 1 && !areDimsCompatible(fromSize, toSize))
      return op->emitOpError()
             << "size of operand dimension " << index << " (" << fromSize
             << ") is not equal to 1 or size of result dimension " << dim
             << " (" << toSize << ")";
  }
  Type elementType = from.getElementType();
  if (std::optional<int64_t> axis = getAxis(from))
    elementType = moveAxis(elementType, dims[*axis]);
  return verifyElementTypes(op, elementType, to.getElementType());
}

LogicalResult BroadcastInDimOp::verify() {
  return verifyBroadcast(*this, getOperand().getType(), getType(),
                         getBroadcastDimensions()); // (C1) to (C4)
}

/// Verifies the dimensions known to expand or not to expand.
static LogicalResult verifyKnownDims(DynamicBroadcastInDimOp op) {
  SmallVector<int64_t> known;
  if (auto dims = op.getKnownExpandingDimensions())
    llvm::append_range(known, *dims);
  if (auto dims = op.getKnownNonexpandingDimensions())
    llvm::append_range(known, *dims);
  return verifyUniqueDims(
      op.getLoc(), "known_expanding_dimensions, known_nonexpanding_dimensions",
      known, op.getOperand().getType().getRank());
}

LogicalResult DynamicBroadcastInDimOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (failed(verifyShapeOperand(*this, "output_dimensions", // (C2)
                                getOutputDimensions(), to)))
    return failure();
  if (failed(verifyBroadcast(*this, from, to, getBroadcastDimensions())))
    return failure();            // (C1) (C3) (C4)
  return verifyKnownDims(*this); // (C5)
}

//===----------------------------------------------------------------------===//
// Slicing
//===----------------------------------------------------------------------===//

FailureOr<Type> SliceOp::inferType(std::optional<Location> location,
                                   Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> starts = adaptor.getStartIndices();
  ArrayRef<int64_t> limits = adaptor.getLimitIndices();
  ArrayRef<int64_t> strides = adaptor.getStrides();
  int64_t rank = type.getRank();
  if (failed(verifyLength(location, "start_indices", starts.size(), rank)) ||
      failed(verifyLength(location, "limit_indices", limits.size(), rank)) ||
      failed(verifyLength(location, "strides", strides.size(), rank)))
    return failure(); // (C1)
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t start = starts[dim], limit = limits[dim], stride = strides[dim];
    if (start < 0) // (C2)
      return emitOptionalError(location, "negative start index ", start,
                               " in dimension ", dim);
    if (start > limit)
      return emitOptionalError(location, "start index ", start,
                               " is larger than limit index ", limit,
                               " in dimension ", dim);
    int64_t size = getLimit(type, dim);
    if (ShapedType::isStatic(size) && limit > size)
      return emitOptionalError(location, "limit index ", limit,
                               " is larger than dimension size ", size,
                               " in dimension ", dim);
    if (stride <= 0) // (C3)
      return emitOptionalError(location, "stride must be positive but got ",
                               stride, " in dimension ", dim);
    shape.push_back(llvm::divideCeil(limit - start, stride));
  }
  return RankedTensorType::get(shape, type.getElementType());
}

FailureOr<Type> DynamicSliceOp::inferType(std::optional<Location> location,
                                          Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> sizes = adaptor.getSliceSizes();
  ValueRange starts = adaptor.getStartIndices();
  if (failed(verifyLength(location, "slice_sizes", sizes.size(),
                          type.getRank())) ||
      failed(verifyLength(location, "start_indices", starts.size(),
                          type.getRank()))) // (C1)
    return failure();
  if (failed(verifySameIndexType(location, starts))) // (C2)
    return failure();
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (size < 0) // (C3)
      return emitOptionalError(location, "has negative size ", size,
                               " in dimension ", dim, " of slice_sizes");
    int64_t limit = getLimit(type, dim);
    if (ShapedType::isStatic(limit) && size > limit)
      return emitOptionalError(location, "has slice size ", size,
                               " greater than dimension size ", limit,
                               " in dimension ", dim);
  }
  return RankedTensorType::get(sizes, type.getElementType());
}

FailureOr<Type>
DynamicUpdateSliceOp::inferType(std::optional<Location> location,
                                Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto update = cast<RankedTensorType>(adaptor.getUpdate().getType());
  if (type.getRank() != update.getRank()) // (C1)
    return emitOptionalError(location, "update rank ", update.getRank(),
                             " does not match operand rank ", type.getRank());
  if (!areElementTypesCompatible(type, update))
    return emitOptionalError(location, "requires the same element type, got ",
                             type.getElementType(), " and ",
                             update.getElementType());
  if (failed(verifyLength(location, "start_indices",
                          adaptor.getStartIndices().size(), type.getRank())) ||
      failed(verifySameIndexType(location, adaptor.getStartIndices())))
    return failure(); // (C2)
  for (int64_t dim = 0, rank = type.getRank(); dim < rank; ++dim) {
    int64_t size = update.getDimSize(dim), limit = getLimit(type, dim);
    if (ShapedType::isStatic(size) && ShapedType::isStatic(limit) &&
        size > limit) // (C3)
      return emitOptionalError(location, "expects size ", size,
                               " of dimension ", dim,
                               " of update to be in range [0, ", limit, "]");
  }
  return type;
}

LogicalResult RealDynamicSliceOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (from.getElementType() != to.getElementType()) // (C1)
    return emitOpError() << "requires the same element type for operand and "
                            "result, but got "
                         << from << " and " << to;
  Type indices = getStartIndices().getType();
  if (indices != getLimitIndices().getType() ||
      indices != getStrides().getType()) // (C2)
    return emitOpError() << "start_indices, limit_indices and strides must "
                            "have the same type, but got "
                         << indices << ", " << getLimitIndices().getType()
                         << " and " << getStrides().getType();
  int64_t length = getStartIndices().getType().getDimSize(0);
  if (!areDimsCompatible(length, from.getRank()))
    return emitOpError() << "has operand rank (" << from.getRank()
                         << ") not equal to the size of start_indices ("
                         << length << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// Appends the padded shape; dynamic sizes stay.
static LogicalResult inferPadded(std::optional<Location> location,
                                 ArrayRef<int64_t> sizes, ArrayRef<int64_t> low,
                                 ArrayRef<int64_t> high,
                                 ArrayRef<int64_t> interior,
                                 SmallVectorImpl<int64_t> &padded) {
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (interior[dim] < 0) // (C2)
      return emitOptionalError(location, "interior padding ", interior[dim],
                               " of dimension ", dim,
                               " is negative; expected at least 0");
    if (ShapedType::isDynamic(size)) {
      padded.push_back(size);
      continue;
    }
    WideSize wide = dilateSize(size, interior[dim]) + low[dim] + high[dim];
    std::optional<int64_t> result = toSize(wide); // (C3)
    if (!result && wide < 0)
      return emitOptionalError(location, "padding makes the size ",
                               static_cast<int64_t>(std::max<WideSize>(
                                   wide, std::numeric_limits<int64_t>::min())),
                               " of dimension ", dim,
                               " negative; expected at least 0");
    if (!result)
      return emitOptionalError(location, "padding makes the size of dimension ",
                               dim, " more than 2^63 - 1, the largest size");
    padded.push_back(*result);
  }
  return success();
}

FailureOr<Type> PadOp::inferType(std::optional<Location> location,
                                 Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> low = adaptor.getEdgePaddingLow();
  ArrayRef<int64_t> high = adaptor.getEdgePaddingHigh();
  ArrayRef<int64_t> interior = adaptor.getInteriorPadding();
  int64_t rank = type.getRank();
  if (failed(verifyLength(location, "edge_padding_low", low.size(), rank)) ||
      failed(verifyLength(location, "edge_padding_high", high.size(), rank)) ||
      failed(verifyLength(location, "interior_padding", interior.size(), rank)))
    return failure(); // (C1)
  SmallVector<int64_t> shape, limits;
  if (failed(
          inferPadded(location, type.getShape(), low, high, interior, shape)) ||
      failed(
          inferPadded(location, getLimits(type), low, high, interior, limits)))
    return failure();
  return getBoundedType(type, shape, std::move(limits));
}

/// Verifies the result of constant paddings.
static LogicalResult verifyConstantPadding(DynamicPadOp op) {
  SmallVector<int64_t> low, high, interior, shape;
  if (!matchConstantOperand(op.getInteriorPadding(), interior))
    return success();
  if (llvm::any_of(interior, [](int64_t amount) { return amount < 0; }))
    return op.emitOpError() << "interior padding [" << interior
                            << "] has a negative entry; expected at least 0";
  if (!matchConstantOperand(op.getEdgePaddingLow(), low) ||
      !matchConstantOperand(op.getEdgePaddingHigh(), high))
    return success();
  if (failed(inferPadded(op.getLoc(), op.getOperand().getType().getShape(), low,
                         high, interior, shape)))
    return failure();
  if (!areShapesCompatible(shape, op.getType().getShape()))
    return op.emitOpError() << "padded shape [" << shape
                            << "] does not fit the result " << op.getType();
  return success();
}

LogicalResult DynamicPadOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  RankedTensorType value = getPaddingValue().getType();
  if (from.getElementType() != to.getElementType() ||
      from.getElementType() != value.getElementType()) // (C1)
    return emitOpError() << "requires the same element type for operand, "
                            "padding value and result, but got "
                         << from << ", " << value << " and " << to;
  if (from.getRank() != to.getRank())
    return emitOpError() << "requires the same rank for operand and result, "
                            "but got "
                         << from << " and " << to;
  RankedTensorType low = getEdgePaddingLow().getType();
  if (low != getEdgePaddingHigh().getType() ||
      low != getInteriorPadding().getType()) // (C2)
    return emitOpError() << "the three paddings must have the same type, but "
                            "got "
                         << low << ", " << getEdgePaddingHigh().getType()
                         << " and " << getInteriorPadding().getType();
  if (low.getDimSize(0) != from.getRank())
    return emitOpError() << "padding operands size (" << low.getDimSize(0)
                         << ") must match operand rank (" << from.getRank()
                         << ")";
  return verifyConstantPadding(*this); // (C3)
}

//===----------------------------------------------------------------------===//
// ConcatenateOp
//===----------------------------------------------------------------------===//

/// Verifies that the operands have the same rank and agree outside of `dim`.
static LogicalResult verifyConcatenated(std::optional<Location> location,
                                        TypeRange types, int64_t concatDim) {
  auto first = cast<RankedTensorType>(types.front());
  if (failed(verifyDim(location, concatDim, first.getRank()))) // (C2)
    return failure();
  for (auto [index, type] : llvm::enumerate(types)) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() != first.getRank()) // (C3)
      return emitOptionalError(location, "operands (0) and (", index,
                               ") do not match rank");
    for (int64_t dim = 0, rank = first.getRank(); dim < rank; ++dim)
      if (dim != concatDim &&
          !areDimsCompatible(first.getDimSize(dim), tensor.getDimSize(dim)))
        return emitOptionalError(location, "shapes of operand (0) and (", index,
                                 ") do not match at non-concat index ", dim,
                                 ": ", first, " and ", type);
  }
  return success();
}

FailureOr<Type> ConcatenateOp::inferType(std::optional<Location> location,
                                         Adaptor adaptor) {
  TypeRange types = adaptor.getInputs().getTypes();
  if (types.empty()) // (C1)
    return emitOptionalError(location, "expected at least one operand");
  int64_t concatDim = adaptor.getDimension();
  if (failed(verifyConcatenated(location, types, concatDim)))
    return failure();
  // Outside of the concatenated dimension the operands refine each other.
  auto first = cast<RankedTensorType>(types.front());
  SmallVector<int64_t> shape(first.getShape()), limits = getLimits(first);
  for (int64_t dim = 0, rank = first.getRank(); dim < rank; ++dim) {
    for (Type type : types.drop_front()) {
      auto tensor = cast<RankedTensorType>(type);
      int64_t size = tensor.getDimSize(dim), limit = getLimit(tensor, dim);
      if (dim == concatDim) {
        auto sum = addSizes(shape[dim], size);
        auto bound = addSizes(limits[dim], limit);
        if (!sum || !bound)
          return emitOptionalError(location, "makes the size of dimension ",
                                   dim,
                                   " more than 2^63 - 1, the largest size");
        shape[dim] = *sum;
        limits[dim] = *bound;
        continue;
      }
      if (ShapedType::isDynamic(shape[dim]))
        shape[dim] = size;
      if (ShapedType::isDynamic(limits[dim]) ||
          (ShapedType::isStatic(limit) && limit < limits[dim]))
        limits[dim] = limit;
    }
  }
  return getBoundedType(first, shape, std::move(limits));
}

Speculation::Speculatability ConcatenateOp::getSpeculatability() {
  int64_t concatDim = getDimension();
  bool concatDimIsDynamic = getType().isDynamicDim(concatDim);
  for (Type type : getOperandTypes())
    for (auto [dim, size] :
         llvm::enumerate(cast<RankedTensorType>(type).getShape()))
      if (ShapedType::isDynamic(size) &&
          (static_cast<int64_t>(dim) != concatDim || !concatDimIsDynamic))
        return Speculation::NotSpeculatable;
  return Speculation::Speculatable;
}

//===----------------------------------------------------------------------===//
// Dynamic dimensions
//===----------------------------------------------------------------------===//

FailureOr<Type> GetDimensionSizeOp::inferType(std::optional<Location> location,
                                              Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  if (failed(verifyDim(location, adaptor.getDimension(), type.getRank())))
    return failure(); // (C1)
  return RankedTensorType::get({}, IntegerType::get(type.getContext(), 32));
}

FailureOr<Type> SetDimensionSizeOp::inferType(std::optional<Location> location,
                                              Adaptor adaptor) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  int64_t setDim = adaptor.getDimension();
  if (failed(verifyDim(location, setDim, type.getRank()))) // (C1)
    return failure();
  if (cast<RankedTensorType>(adaptor.getSize().getType()).getRank() != 0)
    return emitOptionalError(location, "size operand should be of rank-0, got ",
                             adaptor.getSize().getType()); // (C2)
  SmallVector<int64_t> shape(type.getShape()), limits = getLimits(type), size;
  bool isFull = matchConstantOperand(adaptor.getSize(), size) &&
                size.front() == limits[setDim];
  shape[setDim] = isFull ? limits[setDim] : ShapedType::kDynamic;
  return getBoundedType(type, shape, std::move(limits));
}

Speculation::Speculatability SetDimensionSizeOp::getSpeculatability() {
  return speculatableIf(getType().isDynamicDim(getDimension()) ||
                        isConstantOperand(getSize()));
}
