//===- Utf8.cpp - Texts of any bytes as UTF-8 -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

/// The bytes of the character at the front; 0 if there is none.
static size_t getSizeOfFirst(StringRef text) {
  for (size_t size = 1; size <= std::min<size_t>(text.size(), 4); ++size)
    if (json::isUTF8(text.take_front(size)))
      return size;
  return 0;
}

static std::string toHexText(StringRef byte) { return "\\x" + toHex(byte); }

std::string meshwright::toUtf8(StringRef text) {
  if (json::isUTF8(text))
    return text.str();
  std::string result;
  while (!text.empty()) {
    size_t size = getSizeOfFirst(text);
    if (size == 0)
      result += toHexText(text.take_front(1));
    else
      result += text.take_front(size);
    text = text.drop_front(std::max<size_t>(size, 1));
  }
  return result;
}

std::string meshwright::toLine(StringRef text) {
  std::string result;
  for (char letter : toUtf8(text))
    if (static_cast<unsigned char>(letter) < ' ' || letter == 0x7f)
      result += toHexText(StringRef(&letter, 1));
    else
      result += letter;
  return result;
}
