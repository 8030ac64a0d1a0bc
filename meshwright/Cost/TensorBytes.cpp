//===- TensorBytes.cpp - Bytes a tensor takes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The compiler of TPUs chooses the two dimensions that it tiles so that an array
// takes as few bytes as it can:
//
//   f32[4096,3]       4 by 4096 words       columns are the first dimension
//   bf16[8,100,100]   100 of 8 by 128       rows are the first dimension
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Cost/Device.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace meshwright;

static constexpr unsigned kBitsPerByte = 8;

static uint64_t getElementBits(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * getElementBits(complex.getElementType());
  if (auto quantized = dyn_cast<quant::QuantizedType>(type))
    return quantized.getStorageTypeIntegralWidth();
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth()
                             : IndexType::kInternalStorageBitWidth;
}

/// A dynamic dimension counts as one.
static uint64_t multiply(uint64_t bits, ArrayRef<int64_t> shape) {
  for (int64_t size : shape)
    if (!ShapedType::isDynamic(size))
      bits = llvm::SaturatingMultiply<uint64_t>(bits, size);
  return bits;
}

/// Of an element in memory, where a boolean takes a byte.
static uint64_t getBufferBits(Type element) {
  return element.isInteger(1) ? kBitsPerByte : getElementBits(element);
}

int64_t meshwright::countBytes(RankedTensorType type) {
  return llvm::divideCeil(
      multiply(getBufferBits(type.getElementType()), type.getShape()),
      kBitsPerByte);
}

namespace {
/// Arrays with elements of a number of bits, in tiles.
class TiledArrays {
public:
  TiledArrays(const Tiling &tiling, uint64_t bits)
      : tiling(tiling),
        packed(std::max<uint64_t>(1, llvm::bit_floor(tiling.wordBits / bits))) {
  }

  /// With those of the padding.
  uint64_t countElements(ArrayRef<int64_t> shape,
                         ArrayRef<int64_t> order) const;

private:
  /// Elements that a number of rows and columns take. A tile has `least` rows or more,
  /// since a word is never divided.
  uint64_t pad(uint64_t rows, uint64_t columns, uint64_t least) const {
    uint64_t most = std::max<uint64_t>(tiling.rows, least);
    uint64_t tile = std::clamp(llvm::PowerOf2Ceil(rows), least, most);
    return llvm::SaturatingMultiply<uint64_t>(
        llvm::alignTo(rows, tile),
        llvm::alignTo(columns, uint64_t(tiling.columns)));
  }

  const Tiling &tiling;
  uint64_t packed; ///< Elements in a word.
};
} // namespace

uint64_t TiledArrays::countElements(ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> order) const {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  uint64_t all = multiply(1, shape);
  if (all == 0 || all == kMost)
    return all;
  // A line is folded into rows.
  if (shape.size() < 2)
    return pad(llvm::divideCeil(all, uint64_t(tiling.columns)), tiling.columns,
               packed);
  // What is compared are tiles of the usual height, also where a word has more
  // elements than that. Of dimensions that do as well the last ones are tiled.
  uint64_t least = std::min<uint64_t>(packed, tiling.rows);
  uint64_t fewest = kMost, chosen = kMost;
  for (size_t column = shape.size(); column-- > 0;)
    for (size_t row = shape.size(); row-- > 0;) {
      if (row == column ||
          (!order.empty() && (order.back() != int64_t(column) ||
                              *(order.end() - 2) != int64_t(row))))
        continue;
      uint64_t rows = multiply(1, shape[row]);
      uint64_t columns = multiply(1, shape[column]);
      uint64_t outer = all / rows / columns;
      auto count = [&](uint64_t least) {
        return llvm::SaturatingMultiply(outer, pad(rows, columns, least));
      };
      if (uint64_t elements = count(least); elements < fewest) {
        fewest = elements;
        chosen = count(packed);
      }
    }
  return chosen;
}

/// Whether each dimension is there once.
static bool isOrder(ArrayRef<int64_t> order, size_t rank) {
  llvm::SmallBitVector found(rank);
  for (int64_t dimension : order)
    if (dimension >= 0 && dimension < int64_t(rank))
      found.set(dimension);
  return order.size() == rank && found.all();
}

int64_t meshwright::countBytes(ArrayRef<int64_t> shape, int64_t bits,
                               const Device &device, ArrayRef<int64_t> order) {
  if (!isOrder(order, shape.size()))
    order = {};
  if (bits == 0)
    return 0;
  uint64_t elements =
      device.tiling
          ? TiledArrays(*device.tiling, bits).countElements(shape, order)
          : multiply(1, shape);
  return llvm::divideCeil(llvm::SaturatingMultiply<uint64_t>(elements, bits),
                          kBitsPerByte);
}

int64_t meshwright::countBytes(RankedTensorType type, const Device &device,
                               ArrayRef<int64_t> order) {
  return countBytes(type.getShape(), getBufferBits(type.getElementType()),
                    device, order);
}

SmallVector<int64_t> meshwright::parseOrder(StringRef layout) {
  SmallVector<int64_t> order;
  if (!layout.consume_front("{"))
    return order;
  for (StringRef number : llvm::split(
           layout.take_until([](char c) { return c == '}' || c == ':'; }), ","))
    if (number.getAsInteger(10, order.emplace_back()))
      return {};
  std::reverse(order.begin(), order.end());
  return order;
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
      multiply(getElementBits(type.getElementType()), type.getShape()),
      std::numeric_limits<int64_t>::max());
}
