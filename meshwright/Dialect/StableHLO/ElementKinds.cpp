//===- ElementKinds.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::stablehlo;

static unsigned getIntegerKind(IntegerType type) {
  if (type.isSigned())
    return 0;
  if (type.getWidth() == 1)
    return type.isSignless() ? kPredicate : 0;
  if (!llvm::is_contained({2, 4, 8, 16, 32, 64}, type.getWidth()))
    return 0;
  return type.isSignless() ? kSignless : kUnsigned;
}

/// Returns true if the storage is an integer that the dialect knows.
static bool hasKnownStorage(quant::QuantizedType type) {
  return llvm::is_contained({2, 4, 8, 16, 32},
                            type.getStorageTypeIntegralWidth());
}

static bool isStored(quant::QuantizedType type, int64_t zeroPoint) {
  return zeroPoint >= type.getStorageTypeMin() &&
         zeroPoint <= type.getStorageTypeMax();
}

unsigned stablehlo::getElementKind(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return getIntegerKind(integer);
  if (isa<FloatType>(elementType))
    return isa<FloatTF32Type, Float80Type, Float128Type>(elementType) ? 0
                                                                      : kFloat;
  if (auto complex = dyn_cast<ComplexType>(elementType)) {
    Type part = complex.getElementType();
    return part.isF32() || part.isF64() ? kComplex : 0;
  }
  if (isa<IndexType>(elementType))
    return kIndex;
  if (auto uniform = dyn_cast<quant::UniformQuantizedType>(elementType))
    return hasKnownStorage(uniform) && isStored(uniform, uniform.getZeroPoint())
               ? kQuantized
               : 0;
  if (auto axis = dyn_cast<quant::UniformQuantizedPerAxisType>(elementType))
    return hasKnownStorage(axis) &&
                   llvm::all_of(axis.getZeroPoints(),
                                [&](int64_t zeroPoint) {
                                  return isStored(axis, zeroPoint);
                                })
               ? kAxisQuantized
               : 0;
  return 0;
}

/// Returns true if the scales of a per-axis quantized tensor fit its shape.
static bool scalesFit(RankedTensorType type) {
  auto axis = cast<quant::UniformQuantizedPerAxisType>(type.getElementType());
  int64_t dim = axis.getQuantizedDimension();
  if (dim < 0 || dim >= type.getRank())
    return false;
  return type.isDynamicDim(dim) ||
         type.getDimSize(dim) == static_cast<int64_t>(axis.getScales().size());
}

bool stablehlo::isTensorOf(Type type, unsigned kinds, int64_t rank) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || (rank >= 0 && tensor.getRank() != rank))
    return false;
  unsigned kind = getElementKind(tensor.getElementType()) & kinds;
  return kind == kAxisQuantized ? scalesFit(tensor) : kind != 0;
}

bool stablehlo::isStaticTensorOf(Type type, unsigned kinds, int64_t rank) {
  return isTensorOf(type, kinds, rank) &&
         cast<RankedTensorType>(type).hasStaticShape();
}

bool stablehlo::isStaticOrBoundedTensorOf(Type type, unsigned kinds) {
  if (!isTensorOf(type, kinds))
    return false;
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.hasStaticShape())
    return true;
  if (tensor.getNumDynamicDims() != 1)
    return false;
  ArrayRef<int64_t> bounds = getBounds(tensor);
  return !bounds.empty() && llvm::any_of(bounds, ShapedType::isStatic);
}

bool stablehlo::isAnyRankTensorOf(Type type, unsigned kinds) {
  if (auto tensor = dyn_cast<UnrankedTensorType>(type))
    return getElementKind(tensor.getElementType()) & kinds;
  return isTensorOf(type, kinds);
}

bool stablehlo::isTensorOfInt(Type type, unsigned width,
                              IntegerType::SignednessSemantics signedness) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  auto integer = dyn_cast<IntegerType>(tensor.getElementType());
  return integer && integer.getWidth() == width &&
         integer.getSignedness() == signedness;
}

bool stablehlo::isTensorOfF32OrF64(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor &&
         (tensor.getElementType().isF32() || tensor.getElementType().isF64());
}

bool stablehlo::isMemRefOf(Type type, unsigned kinds) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && (getElementKind(memref.getElementType()) & kinds);
}

bool stablehlo::isCarried(Type type) {
  return isa<TokenType>(type) || isTensorOf(type, kPlain | kAxisQuantized) ||
         isMemRefOf(type, kPlain);
}

/// Whether a tuple holds values only, in tuples, too. Parts that were `seen`
/// are not looked at again: one may occur more often than can be counted.
static bool holdsValues(TupleType tuple, DenseSet<Type> &seen) {
  return llvm::all_of(tuple.getTypes(), [&](Type part) {
    if (!seen.insert(part).second)
      return true;
    if (auto nested = dyn_cast<TupleType>(part))
      return holdsValues(nested, seen);
    return isCarried(part);
  });
}

bool stablehlo::isTupleOfValues(Type type) {
  auto tuple = dyn_cast<TupleType>(type);
  DenseSet<Type> seen; // Membership only.
  return tuple && holdsValues(tuple, seen);
}

bool stablehlo::isLayout(Attribute attribute) {
  auto elements = dyn_cast<DenseIntElementsAttr>(attribute);
  return elements && elements.getType().getRank() == 1 &&
         elements.getElementType().isIndex();
}
