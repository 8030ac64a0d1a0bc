//===- RowsSvg.h - Boxes in rows, over time, as an image --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_ROWSSVG_H
#define MESHWRIGHT_SCHEDULE_ROWSSVG_H

#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace meshwright {

struct SvgBox {
  std::string label; ///< Shown in boxes that are wide enough.
  std::string tooltip;
  llvm::StringRef fill; ///< A colour on which black letters can be read.
  double start, stop;
  /// Of a row that is split for boxes that overlap: which part, of how many.
  unsigned slot = 0, slots = 1;
};

struct SvgRow {
  std::string name;
  std::vector<SvgBox> boxes;
  bool isLow = false;       ///< Half as high as others.
  bool beginsGroup = false; ///< Below a line.
};

struct SvgLegendEntry {
  llvm::StringRef text, fill;
};

struct SvgImage {
  std::string title;
  double makespan = 0;
  std::vector<SvgRow> rows;
  std::vector<SvgLegendEntry> legend; ///< Below; may be empty.
  double mostUnit = 24;               ///< Columns for a unit of time, at most.
  double mostColumns = 4096;
};

void printSvg(const SvgImage &image, llvm::raw_ostream &os);

} // namespace meshwright

#endif
