//===- TensorBytes.cpp - Bytes a tensor takes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;

static constexpr unsigned kBitsPerByte = 8;

static uint64_t getElementBits(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * getElementBits(complex.getElementType());
  if (auto quantized = dyn_cast<quant::QuantizedType>(type))
    return quantized.getStorageTypeIntegralWidth();
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth()
                             : IndexType::kInternalStorageBitWidth;
}

static uint64_t multiply(uint64_t bits, RankedTensorType type) {
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size))
      bits = llvm::SaturatingMultiply<uint64_t>(bits, size);
  return bits;
}

int64_t meshwright::countBytes(RankedTensorType type) {
  Type element = type.getElementType();
  uint64_t bits = element.isInteger(1) ? kBitsPerByte : getElementBits(element);
  return llvm::divideCeil(multiply(bits, type), kBitsPerByte);
}

void meshwright::addCount(int64_t &sum, int64_t count) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (llvm::AddOverflow(sum, count, sum))
    sum = count > 0 ? kMost : -kMost;
}

int64_t meshwright::roundCount(double count) {
  constexpr double kMost = int64_t(1) << 62;
  return std::llround(std::min(count, kMost));
}

int64_t meshwright::countBits(RankedTensorType type) {
  return std::min<uint64_t>(
      multiply(getElementBits(type.getElementType()), type),
      std::numeric_limits<int64_t>::max());
}
