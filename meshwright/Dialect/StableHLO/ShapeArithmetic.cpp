//===- ShapeArithmetic.cpp - Sizes that may be too large ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/ShapeArithmetic.h"
#include "llvm/ADT/APInt.h"

using namespace mlir;
using namespace mlir::stablehlo;

std::optional<int64_t> stablehlo::toSize(WideSize size) {
  if (size < 0 || size > std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return static_cast<int64_t>(size);
}

std::optional<int64_t> stablehlo::addSizes(int64_t a, int64_t b) {
  if (ShapedType::isDynamic(a) || ShapedType::isDynamic(b))
    return ShapedType::kDynamic;
  return toSize(WideSize(a) + b);
}

std::optional<int64_t> stablehlo::multiplySizes(int64_t a, int64_t b) {
  if (ShapedType::isDynamic(a) || ShapedType::isDynamic(b))
    return ShapedType::kDynamic;
  return toSize(WideSize(a) * b);
}

WideSize stablehlo::dilateSize(int64_t size, int64_t interior) {
  return size == 0 ? 0 : WideSize(size - 1) * interior + size;
}

std::optional<int64_t> stablehlo::countElements(ArrayRef<int64_t> shape) {
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return std::nullopt;
  if (llvm::is_contained(shape, 0))
    return 0;
  std::optional<int64_t> count = 1;
  for (int64_t size : shape)
    if (count)
      count = multiplySizes(*count, size);
  return count;
}

bool stablehlo::haveAsManyElements(ShapedType a, ShapedType b) {
  if (!a.hasStaticShape() || !b.hasStaticShape())
    return false;
  std::optional<int64_t> count = countElements(a), other = countElements(b);
  if (count || other)
    return count == other;
  // What cannot be counted can still be compared.
  auto product = [](ShapedType type) {
    unsigned width = 64 * (type.getRank() + 1);
    llvm::APInt count(width, 1);
    for (int64_t size : type.getShape())
      count *= llvm::APInt(width, size);
    return count.getActiveBits() == 0 ? llvm::APInt(1, 0)
                                      : count.trunc(count.getActiveBits());
  };
  llvm::APInt left = product(a), right = product(b);
  return left.getBitWidth() == right.getBitWidth() && left == right;
}
