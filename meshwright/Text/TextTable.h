//===- TextTable.h - Tables for people --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_TEXTTABLE_H
#define MESHWRIGHT_TEXT_TEXTTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace meshwright {

using TextRow = std::vector<std::string>;

/// Prints rows of as many cells each, the first column to the left, the others
/// to the right.
void printRows(llvm::ArrayRef<TextRow> rows, llvm::raw_ostream &os);

/// Four significant characters and a unit, such as "1.2 M".
std::string toScaled(double value, llvm::StringRef unit);

} // namespace meshwright

#endif
