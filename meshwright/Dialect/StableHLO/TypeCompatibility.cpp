//===- TypeCompatibility.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> stablehlo::getBounds(RankedTensorType type) {
  auto bounds = dyn_cast_or_null<TypeExtensionsAttr>(type.getEncoding());
  return bounds ? bounds.getBounds() : ArrayRef<int64_t>();
}

Attribute stablehlo::getBoundsEncoding(MLIRContext *context,
                                       ArrayRef<int64_t> bounds) {
  if (llvm::all_of(bounds, ShapedType::isDynamic))
    return nullptr;
  return TypeExtensionsAttr::get(context, bounds);
}

/// Returns the bound of one dimension, kDynamic if it has none.
static int64_t getBound(ArrayRef<int64_t> bounds, int64_t dim) {
  return bounds.empty() ? ShapedType::kDynamic : bounds[dim];
}

/// Returns true if a static size contradicts a bound.
static bool exceedsBound(int64_t size, int64_t bound) {
  return ShapedType::isStatic(size) && ShapedType::isStatic(bound) &&
         size > bound;
}

//===----------------------------------------------------------------------===//
// Compatibility
//===----------------------------------------------------------------------===//

bool stablehlo::areShapesCompatible(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip_equal(a, b), [](auto dims) {
           return areDimsCompatible(std::get<0>(dims), std::get<1>(dims));
         });
}

bool stablehlo::areShapesCompatible(Type a, Type b) {
  auto shapedA = dyn_cast<ShapedType>(a), shapedB = dyn_cast<ShapedType>(b);
  if (!shapedA || !shapedB)
    return !shapedA && !shapedB;
  if (!shapedA.hasRank() || !shapedB.hasRank())
    return true;
  return areShapesCompatible(shapedA.getShape(), shapedB.getShape());
}

bool stablehlo::areElementTypesCompatible(Type a, Type b) {
  a = getElementTypeOrSelf(a);
  b = getElementTypeOrSelf(b);
  if (a == b)
    return true;
  auto quantA = dyn_cast<quant::QuantizedType>(a);
  auto quantB = dyn_cast<quant::QuantizedType>(b);
  if (!quantA || !quantB || quantA.getTypeID() != quantB.getTypeID() ||
      quantA.getFlags() != quantB.getFlags() ||
      quantA.getStorageType() != quantB.getStorageType() ||
      quantA.getStorageTypeMin() != quantB.getStorageTypeMin() ||
      quantA.getStorageTypeMax() != quantB.getStorageTypeMax() ||
      quantA.getExpressedType() != quantB.getExpressedType())
    return false;
  auto axisA = dyn_cast<quant::UniformQuantizedPerAxisType>(a);
  return !axisA || axisA.getQuantizedDimension() ==
                       cast<quant::UniformQuantizedPerAxisType>(b)
                           .getQuantizedDimension();
}

static bool areTensorsCompatible(RankedTensorType a, RankedTensorType b) {
  if (!areElementTypesCompatible(a, b) ||
      !areShapesCompatible(a.getShape(), b.getShape()))
    return false;
  ArrayRef<int64_t> boundsA = getBounds(a), boundsB = getBounds(b);
  if (boundsA.empty() && boundsB.empty())
    return true;
  for (int64_t dim = 0, rank = a.getRank(); dim < rank; ++dim)
    if (exceedsBound(a.getDimSize(dim), getBound(boundsB, dim)) ||
        exceedsBound(b.getDimSize(dim), getBound(boundsA, dim)))
      return false;
  return true;
}

bool stablehlo::areTypesCompatible(Type a, Type b) {
  if (a == b)
    return true;
  if (isa<TensorType>(a) && isa<TensorType>(b)) {
    auto rankedA = dyn_cast<RankedTensorType>(a);
    auto rankedB = dyn_cast<RankedTensorType>(b);
    if (rankedA && rankedB)
      return areTensorsCompatible(rankedA, rankedB);
    return areElementTypesCompatible(a, b);
  }
  return false;
}

bool stablehlo::areTypesCompatible(TypeRange a, TypeRange b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip_equal(a, b), [](auto types) {
           return areTypesCompatible(std::get<0>(types), std::get<1>(types));
         });
}

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// A dimension and its bound.
namespace {
struct Extent {
  int64_t size, bound;
};
} // namespace

/// What two views of one dimension say together.
static std::optional<Extent> meet(Extent a, Extent b) {
  if (!areDimsCompatible(a.size, b.size) || exceedsBound(a.size, b.bound) ||
      exceedsBound(b.size, a.bound))
    return std::nullopt;
  if (ShapedType::isStatic(a.size) || ShapedType::isStatic(b.size))
    return Extent{ShapedType::isStatic(a.size) ? a.size : b.size,
                  ShapedType::kDynamic};
  if (ShapedType::isDynamic(a.bound) || ShapedType::isDynamic(b.bound))
    return Extent{ShapedType::kDynamic,
                  ShapedType::isDynamic(a.bound) ? b.bound : a.bound};
  return Extent{ShapedType::kDynamic, std::min(a.bound, b.bound)};
}

/// What holds in two views of one dimension.
static std::optional<Extent> join(Extent a, Extent b) {
  if (a.size == b.size && ShapedType::isStatic(a.size))
    return a;
  int64_t limitA = ShapedType::isStatic(a.size) ? a.size : a.bound;
  int64_t limitB = ShapedType::isStatic(b.size) ? b.size : b.bound;
  if (ShapedType::isDynamic(limitA) || ShapedType::isDynamic(limitB))
    return Extent{ShapedType::kDynamic, ShapedType::kDynamic};
  return Extent{ShapedType::kDynamic, std::max(limitA, limitB)};
}

using Combine = std::optional<Extent> (*)(Extent, Extent);

/// Combines tensor types dimension by dimension; all have the rank of the
/// first one.
static Type combineTensors(TypeRange types, Combine combine) {
  auto first = cast<RankedTensorType>(types.front());
  SmallVector<int64_t> shape, bounds;
  for (int64_t dim = 0, rank = first.getRank(); dim < rank; ++dim) {
    std::optional<Extent> extent;
    for (Type type : types) {
      auto tensor = cast<RankedTensorType>(type);
      Extent next{tensor.getDimSize(dim), getBound(getBounds(tensor), dim)};
      extent = extent ? combine(*extent, next) : next;
      if (!extent)
        return nullptr;
    }
    shape.push_back(extent->size);
    bounds.push_back(extent->bound);
  }
  Attribute encoding = first.getEncoding();
  if (!encoding || isa<TypeExtensionsAttr>(encoding))
    encoding = getBoundsEncoding(first.getContext(), bounds);
  return RankedTensorType::get(shape, first.getElementType(), encoding);
}

static Type combineTypes(TypeRange types, Combine combine) {
  Type first = types.front();
  if (llvm::all_equal(types))
    return first;
  auto tensor = dyn_cast<RankedTensorType>(first);
  bool sameRank = tensor && llvm::all_of(types, [&](Type type) {
                    auto other = dyn_cast<RankedTensorType>(type);
                    return other && other.getRank() == tensor.getRank() &&
                           areElementTypesCompatible(tensor, other);
                  });
  return sameRank ? combineTensors(types, combine) : nullptr;
}

static FailureOr<Type> inferCombined(std::optional<Location> location,
                                     TypeRange types, Combine combine) {
  if (types.empty())
    return emitOptionalError(location, "expected at least one operand to infer "
                                       "the result type from");
  Type type = combineTypes(types, combine);
  if (!type)
    return emitOptionalError(location, "no result type fits the types ", types,
                             "; expected compatible types");
  return type;
}

FailureOr<Type>
stablehlo::inferMostSpecificType(std::optional<Location> location,
                                 TypeRange types) {
  return inferCombined(location, types, meet);
}

FailureOr<Type>
stablehlo::inferLeastSpecificType(std::optional<Location> location,
                                  TypeRange types) {
  return inferCombined(location, types, join);
}
