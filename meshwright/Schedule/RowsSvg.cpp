//===- RowsSvg.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Time goes to the right; a box is as wide as its duration. The numbers are in
// boxes that are wide enough.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/RowsSvg.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace meshwright;

namespace {
constexpr double kLetterWidth = 6.2;
constexpr int64_t kTop = 28; // Above: the title.
constexpr int64_t kRow = 26;
constexpr int64_t kLowRow = 15;
constexpr int64_t kGap = 4;
constexpr int64_t kLegend = 24;
} // namespace

static std::string escape(llvm::StringRef text) {
  std::string result;
  for (char letter : text)
    switch (letter) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    default:
      // XML has no place for control characters.
      result += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
  return result;
}

static void drawBox(const SvgBox &box, double unit, int64_t margin, int64_t top,
                    int64_t height, llvm::raw_ostream &os) {
  double left = double(margin) + unit * box.start;
  double width = unit * (box.stop - box.start);
  double part = double(height) / box.slots;
  double above = double(top) + part * box.slot;
  // A line around what is hardly wider would be all that is seen.
  llvm::StringRef line = width > 2 ? " stroke=\"#fff\"" : "";
  os << llvm::formatv(
      "<rect x=\"{0:F2}\" y=\"{1:F1}\" width=\"{2:F2}\" height=\"{3:F1}\" "
      "fill=\"{4}\"{5}><title>{6}</title></rect>\n",
      left, above, width, part, box.fill, line, escape(box.tooltip));
  if (part >= 10 && !box.label.empty() &&
      kLetterWidth * double(box.label.size()) < width)
    os << llvm::formatv(
        "<text x=\"{0:F1}\" y=\"{1:F1}\" text-anchor=\"middle\">{2}</text>\n",
        left + width / 2, above + part / 2 + 4, escape(box.label));
}

static void drawLegend(const std::vector<SvgLegendEntry> &legend,
                       int64_t margin, int64_t top, llvm::raw_ostream &os) {
  double left = double(margin);
  for (const SvgLegendEntry &entry : legend) {
    os << llvm::formatv(
        "<rect x=\"{0:F1}\" y=\"{1}\" width=\"12\" height=\"12\" "
        "fill=\"{2}\"/>\n<text x=\"{3:F1}\" y=\"{4}\">{5}</text>\n",
        left, top, entry.fill, left + 17, top + 10, escape(entry.text));
    left += 34 + kLetterWidth * double(entry.text.size());
  }
}

void meshwright::printSvg(const SvgImage &image, llvm::raw_ostream &os) {
  double makespan = image.makespan > 0 ? image.makespan : 1;
  double unit = std::min(image.mostUnit, image.mostColumns / makespan);
  size_t longest = 0;
  int64_t height = kTop + kGap;
  for (const SvgRow &row : image.rows) {
    longest = std::max(longest, row.name.size());
    height += row.isLow ? kLowRow : kRow;
  }
  int64_t margin = 12 + static_cast<int64_t>(kLetterWidth * double(longest));
  int64_t legendTop = height;
  if (!image.legend.empty())
    height += kLegend;
  int64_t width =
      std::max(margin + static_cast<int64_t>(unit * makespan) + 8,
               static_cast<int64_t>(7.5 * double(image.title.size())));
  os << llvm::formatv(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" "
      "font-size=\"10.5\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n<text x=\"4\" y=\"18\" font-size=\"13\">{2}</text>\n",
      width, height, escape(image.title));
  int64_t top = kTop;
  for (const SvgRow &row : image.rows) {
    int64_t box = (row.isLow ? kLowRow : kRow) - kGap;
    if (row.beginsGroup)
      os << llvm::formatv("<rect x=\"4\" y=\"{0:F1}\" width=\"{1:F1}\" "
                          "height=\"1\" fill=\"#888\"/>\n",
                          double(top) - double(kGap + 1) / 2,
                          double(margin) - 4 + unit * makespan);
    os << llvm::formatv("<text x=\"4\" y=\"{0}\">{1}</text>\n",
                        top + box / 2 + 4, escape(row.name));
    os << llvm::formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2:F1}\" "
                        "height=\"{3}\" fill=\"#f2f2f2\"/>\n",
                        margin, top, unit * makespan, box);
    for (const SvgBox &each : row.boxes)
      drawBox(each, unit, margin, top, box, os);
    top += box + kGap;
  }
  drawLegend(image.legend, margin, legendTop, os);
  os << "</svg>\n";
}
