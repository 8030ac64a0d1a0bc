//===- TextTable.cpp - Tables for people ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/TextTable.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace meshwright;

void meshwright::printRows(llvm::ArrayRef<TextRow> rows,
                           llvm::raw_ostream &os) {
  if (rows.empty())
    return;
  std::vector<size_t> widths(rows.front().size());
  for (const TextRow &row : rows)
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      width = std::max(width, toLine(cell).size());
  for (const TextRow &row : rows) {
    os << llvm::left_justify(toLine(row.front()), widths.front());
    for (size_t i = 1; i < row.size(); ++i)
      os << "  " << llvm::right_justify(toLine(row[i]), widths[i]);
    os << "\n";
  }
}

std::string meshwright::toScaled(double value, llvm::StringRef unit) {
  static constexpr const char *kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  unsigned step = 0;
  while (value >= 999.95 && step + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++step;
  }
  return llvm::formatv(step ? "{0:F1} {1}{2}" : "{0:F0} {1}{2}", value,
                       kPrefixes[step], unit)
      .str();
}
