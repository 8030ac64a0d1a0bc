//===- MeshOrder.cpp - The order of mesh names ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Place/MeshOrder.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

/// The digits at the end of a name.
static StringRef getNumber(StringRef name) {
  return name.substr(name.find_last_not_of("0123456789") + 1);
}

bool mlir::mpmd::meshBefore(StringRef a, StringRef b) {
  StringRef numberA = getNumber(a), numberB = getNumber(b);
  if (numberA.empty() || numberB.empty())
    return a < b;
  // Compared as text, so that no number is too long.
  numberA = numberA.ltrim('0');
  numberB = numberB.ltrim('0');
  return numberA.size() != numberB.size() ? numberA.size() < numberB.size()
                                          : numberA < numberB;
}
