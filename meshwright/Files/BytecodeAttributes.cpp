//===- BytecodeAttributes.cpp - Attributes that are not whole -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/BytecodeAttributes.h"
#include "meshwright/Dialect/StableHLO/ShapeArithmetic.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace meshwright;

static constexpr char kDamaged[] = "the bytecode is damaged: ";

/// The bytes that hold one element; nothing for what no bytes hold.
static std::optional<int64_t> getElementSize(Type type) {
  auto getSize = [](Type part) -> std::optional<int64_t> {
    if (part.isIndex())
      return sizeof(int64_t);
    if (!part.isIntOrFloat())
      return std::nullopt;
    return llvm::divideCeil(part.getIntOrFloatBitWidth(), CHAR_BIT);
  };
  auto complex = dyn_cast<ComplexType>(type);
  if (!complex)
    return getSize(type);
  std::optional<int64_t> size = getSize(complex.getElementType());
  return size ? std::optional(2 * *size) : std::nullopt;
}

/// An integer or float is not of more words than its type has bits for.
static LogicalResult verifyNumber(DialectBytecodeReader &reader) {
  Type type;
  uint64_t numWords;
  if (failed(reader.readType(type)))
    return failure();
  if (!type.isIntOrFloat() ||
      type.getIntOrFloatBitWidth() <= APInt::APINT_BITS_PER_WORD)
    return success();
  if (failed(reader.readVarInt(numWords)))
    return failure();
  if (numWords > APInt::getNumWords(type.getIntOrFloatBitWidth()))
    return reader.emitError() << kDamaged << "a number of type " << type
                              << " is declared with " << numWords << " words";
  return success();
}

static LogicalResult verifyArray(DialectBytecodeReader &reader) {
  Type type;
  uint64_t count;
  ArrayRef<char> bytes;
  if (failed(reader.readType(type)) || failed(reader.readVarInt(count)) ||
      failed(reader.readBlob(bytes)))
    return failure();
  std::optional<int64_t> size = getElementSize(type);
  if (type.isIntOrFloat() && *size > 0 && bytes.size() / *size == count &&
      bytes.size() % *size == 0)
    return success();
  return reader.emitError()
         << kDamaged << "an array of " << count << " elements of type " << type
         << " is of " << bytes.size() << " bytes";
}

/// Whether there are as many bytes as elements need: those of each, or of one that
/// represents all.
static bool holds(ArrayRef<char> bytes, ShapedType type) {
  std::optional<int64_t> size = getElementSize(type.getElementType());
  if (!size || !type.hasStaticShape())
    return false;
  std::optional<int64_t> count = stablehlo::countElements(type);
  uint64_t numBytes = bytes.size();
  if (type.getElementType().isInteger(1)) {
    bool isSplat = numBytes == 1 && (bytes[0] == 0 || bytes[0] == char(-1));
    return isSplat || (count && numBytes == llvm::divideCeil(*count, CHAR_BIT));
  }
  std::optional<int64_t> all =
      count ? llvm::checkedMul(*count, *size) : std::nullopt;
  return numBytes == static_cast<uint64_t>(*size) ||
         (all && numBytes == static_cast<uint64_t>(*all));
}

static LogicalResult verifyElements(DialectBytecodeReader &reader) {
  ShapedType type;
  ArrayRef<char> bytes;
  if (failed(reader.readType(type)) || failed(reader.readBlob(bytes)))
    return failure();
  if (holds(bytes, type))
    return success();
  return reader.emitError() << kDamaged << "elements of type " << type
                            << " are of " << bytes.size() << " bytes";
}

static LogicalResult verifyStrings(DialectBytecodeReader &reader, size_t size) {
  ShapedType type;
  uint64_t isSplat;
  if (failed(reader.readType(type)) || failed(reader.readVarInt(isSplat)))
    return failure();
  std::optional<int64_t> count =
      type.hasRank() ? stablehlo::countElements(type) : std::nullopt;
  // Each takes a byte, at least.
  if (isSplat || (count && static_cast<uint64_t>(*count) <= size))
    return success();
  return reader.emitError() << kDamaged << "strings of type " << type
                            << " are of less than " << size << " bytes";
}

LogicalResult meshwright::verifyBuiltinAttribute(DialectBytecodeReader &reader,
                                                 size_t size) {
  // Which attribute it is, as MLIR counts them.
  enum { Integer = 8, Float = 9, Array = 17, Elements = 18, Strings = 19 };
  uint64_t code;
  if (failed(reader.readVarInt(code)))
    return failure();
  switch (code) {
  case Integer:
  case Float:
    return verifyNumber(reader);
  case Array:
    return verifyArray(reader);
  case Elements:
    return verifyElements(reader);
  case Strings:
    return verifyStrings(reader, size);
  default:
    return success();
  }
}
