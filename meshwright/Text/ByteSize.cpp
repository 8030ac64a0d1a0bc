//===- ByteSize.cpp - "80GB" ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/ByteSize.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace meshwright;

llvm::Expected<int64_t> meshwright::parseByteSize(llvm::StringRef text) {
  llvm::StringRef number =
      text.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
  double unit =
      llvm::StringSwitch<double>(text.drop_front(number.size()).trim().lower())
          .Cases({"", "b"}, 1)
          .Case("kb", 1e3)
          .Case("mb", 1e6)
          .Case("gb", 1e9)
          .Case("tb", 1e12)
          .Case("kib", 0x1p10)
          .Case("mib", 0x1p20)
          .Case("gib", 0x1p30)
          .Case("tib", 0x1p40)
          .Default(0);
  double value = 0;
  if (unit == 0 || number.getAsDouble(value) || value * unit < 1 ||
      value * unit > 0x1p60)
    return llvm::createStringError("'" + text +
                                   "' is not a number of bytes; write it like "
                                   "80GB, 1.5GiB or 4096");
  return std::llround(value * unit);
}
