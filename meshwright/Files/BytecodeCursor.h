//===- BytecodeCursor.h - Numbers and sections of bytecode ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FILES_BYTECODECURSOR_H
#define MESHWRIGHT_FILES_BYTECODECURSOR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/bit.h"
#include <cstdint>

namespace meshwright {

/// Reads from the front. After the end there are zeros, and `isBad`.
class BytecodeCursor {
public:
  explicit BytecodeCursor(llvm::StringRef data) : data(data) {}

  bool isBad() const { return bad; }
  bool isEmpty() const { return bad || data.empty(); }

  uint8_t takeByte() { return static_cast<uint8_t>(take(1).front()); }

  /// The zeros at the end of the first byte are how many bytes follow.
  uint64_t takeNumber() {
    uint64_t value = takeByte();
    unsigned numMore = value ? llvm::countr_zero(value) : 8;
    llvm::StringRef more = take(numMore);
    if (numMore == 8)
      value = 0;
    for (unsigned i = 0; i < numMore; ++i) {
      unsigned shift = numMore == 8 ? 8 * i : 8 * (i + 1);
      value |= uint64_t(static_cast<uint8_t>(more[i])) << shift;
    }
    return numMore == 8 ? value : value >> (numMore + 1);
  }

  /// A text after which there is a zero.
  void skipText() { (void)take(data.find('\0')), (void)takeByte(); }

  /// `count` numbers, as far as there are any.
  void skipNumbers(uint64_t count) {
    while (count-- > 0 && !bad)
      (void)takeNumber();
  }

  size_t getNumLeft() const { return data.size(); }

  /// What is before the contents of a section: which one it is, and its size.
  std::pair<unsigned, uint64_t> takeSectionStart() {
    uint8_t id = takeByte();
    uint64_t size = takeNumber();
    if (id & kIsAligned) {
      uint64_t alignment = takeNumber();
      while (!isEmpty() && alignment > 1 &&
             reinterpret_cast<uintptr_t>(data.data()) % alignment != 0)
        takeByte();
    }
    return {id & ~kIsAligned, size};
  }

  /// The contents of a section, and which one it is.
  std::pair<unsigned, llvm::StringRef> takeSection() {
    auto [id, size] = takeSectionStart();
    return {id, take(size)};
  }

private:
  static constexpr unsigned kIsAligned = 0x80;

  llvm::StringRef take(uint64_t size) {
    static constexpr char kZeros[8] = {};
    if (size > data.size()) {
      bad = true;
      data = {};
      return llvm::StringRef(kZeros, std::min<uint64_t>(size, sizeof(kZeros)));
    }
    llvm::StringRef result = data.take_front(size);
    data = data.drop_front(size);
    return result;
  }

  llvm::StringRef data;
  bool bad = false;
};

} // namespace meshwright

#endif
