//===- BytecodeLimits.cpp - Bytecode that no reader can take --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/BytecodeLimits.h"
#include "mlir/Bytecode/Encoding.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
namespace bytecode = mlir::bytecode;

namespace {
/// Reads from the front. Behind the end there are zeros, and `isBad`.
class Cursor {
public:
  explicit Cursor(StringRef data) : data(data) {}

  bool isBad() const { return bad; }
  bool isEmpty() const { return bad || data.empty(); }

  uint8_t takeByte() { return static_cast<uint8_t>(take(1).front()); }

  /// The zeros at the end of the first byte are how many bytes follow.
  uint64_t takeNumber() {
    uint64_t value = takeByte();
    unsigned numMore = value ? llvm::countr_zero(value) : 8;
    StringRef more = take(numMore);
    if (numMore == 8)
      value = 0;
    for (unsigned i = 0; i < numMore; ++i) {
      unsigned shift = numMore == 8 ? 8 * i : 8 * (i + 1);
      value |= uint64_t(static_cast<uint8_t>(more[i])) << shift;
    }
    return numMore == 8 ? value : value >> (numMore + 1);
  }

  /// A text behind which there is a zero.
  void skipText() { (void)take(data.find('\0')), (void)takeByte(); }

  /// The contents of a section, and which one it is.
  std::pair<unsigned, StringRef> takeSection() {
    uint8_t id = takeByte();
    uint64_t size = takeNumber();
    if (id & kIsAligned) {
      uint64_t alignment = takeNumber();
      while (!isEmpty() && alignment > 1 &&
             reinterpret_cast<uintptr_t>(data.data()) % alignment != 0)
        takeByte();
    }
    return {id & ~kIsAligned, take(size)};
  }

private:
  static constexpr unsigned kIsAligned = 0x80;

  StringRef take(uint64_t size) {
    static constexpr char kZeros[8] = {};
    if (size > data.size()) {
      bad = true;
      data = {};
      return StringRef(kZeros, std::min<uint64_t>(size, sizeof(kZeros)));
    }
    StringRef result = data.take_front(size);
    data = data.drop_front(size);
    return result;
  }

  StringRef data;
  bool bad = false;
};
} // namespace

/// Groups of entries, each of one dialect, that must come out at `count`.
static std::optional<std::string> checkGroups(Cursor &cursor, uint64_t count,
                                              StringRef what) {
  while (count > 0 && !cursor.isEmpty()) {
    (void)cursor.takeNumber(); // The dialect.
    uint64_t size = cursor.takeNumber();
    if (cursor.isBad())
      break;
    if (size > count)
      return formatv("a group of {0} has {1} where {2} are left", what, size,
                     count)
          .str();
    count -= size;
    while (size-- > 0 && !cursor.isBad())
      (void)cursor.takeNumber();
  }
  return std::nullopt;
}

std::optional<std::string>
meshwright::findBytecodeDamage(MemoryBufferRef program) {
  Cursor file(program.getBuffer());
  for (unsigned i = 0; i < 4; ++i)
    (void)file.takeByte(); // That it is bytecode.
  (void)file.takeNumber(); // The version.
  file.skipText();         // Who wrote it.
  while (!file.isEmpty()) {
    auto [id, contents] = file.takeSection();
    if (id != bytecode::Section::kAttrTypeOffset)
      continue;
    Cursor cursor(contents);
    uint64_t numAttributes = cursor.takeNumber();
    uint64_t numTypes = cursor.takeNumber();
    if (auto damage = checkGroups(cursor, numAttributes, "attributes"))
      return damage;
    if (auto damage = checkGroups(cursor, numTypes, "types"))
      return damage;
  }
  return std::nullopt;
}
