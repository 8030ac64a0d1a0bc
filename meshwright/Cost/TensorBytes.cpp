//===- TensorBytes.cpp - Bytes a tensor takes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

static constexpr unsigned kBitsPerByte = 8;

static uint64_t getElementBits(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * getElementBits(complex.getElementType());
  if (auto quantized = dyn_cast<quant::QuantizedType>(type))
    return quantized.getStorageTypeIntegralWidth();
  if (type.isInteger(1))
    return kBitsPerByte;
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth()
                             : IndexType::kInternalStorageBitWidth;
}

int64_t meshwright::countBytes(RankedTensorType type) {
  uint64_t bits = getElementBits(type.getElementType());
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size))
      bits = llvm::SaturatingMultiply<uint64_t>(bits, size);
  return llvm::divideCeil(bits, kBitsPerByte);
}
