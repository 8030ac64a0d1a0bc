//===- TimelineSvg.cpp - A timeline as an image ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A row for each mesh, a box for each step, as wide as it takes; time goes to
// the right. Colours tell forwards, backwards and their halves apart; boxes of
// a mesh's second stage are darker. The numbers stand in boxes that have room.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/TimelineSteps.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace meshwright;

namespace {
constexpr int64_t kMargin = 64; // To the left: the name of the mesh.
constexpr int64_t kTop = 28;    // Above: the title.
constexpr int64_t kRow = 26;
constexpr int64_t kBox = 22;
constexpr int64_t kUnit = 24; // Of time, where the image does not get too wide.
constexpr int64_t kMostColumns = 4096;
} // namespace

/// Light enough for black letters; the second is for later stages of a mesh.
static std::pair<llvm::StringRef, llvm::StringRef> getColours(ActionKind kind) {
  switch (getLetter(kind)) {
  case 'F':
    return {"#9ecae9", "#5ba3d0"};
  case 'B':
    return {"#a1d99b", "#5cb563"};
  case 'I':
    return {"#fdd0a2", "#f5a04f"};
  default:
    return {"#dadaeb", "#a8a5cf"};
  }
}

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

static void drawStep(const TimelineStep &step, bool isLaterStage, double unit,
                     int64_t top, llvm::raw_ostream &os) {
  double left = kMargin + unit * double(step.interval.start);
  double width = unit * double(step.interval.stop - step.interval.start);
  auto [first, later] = getColours(step.action.kind);
  os << llvm::formatv("<rect x=\"{0:F1}\" y=\"{1}\" width=\"{2:F1}\" "
                      "height=\"{3}\" fill=\"{4}\" stroke=\"#fff\"><title>{5}, "
                      "{6} to {7}</title></rect>\n",
                      left, top, width, kBox, isLaterStage ? later : first,
                      step.label, step.interval.start, step.interval.stop);
  constexpr double kLetterWidth = 6.2;
  if (kLetterWidth * double(step.label.size()) < width)
    os << llvm::formatv("<text x=\"{0:F1}\" y=\"{1}\" text-anchor=\"middle\">"
                        "{2}</text>\n",
                        left + width / 2, top + 15, step.label);
}

void meshwright::printTimelineSvg(const Plan &plan, const Timeline &timeline,
                                  llvm::StringRef title,
                                  llvm::raw_ostream &os) {
  int64_t makespan = std::max<int64_t>(timeline.makespan, 1);
  double unit = std::min(double(kUnit), double(kMostColumns) / makespan);
  int64_t width = kMargin + static_cast<int64_t>(unit * makespan) + 8;
  int64_t height = kTop + kRow * static_cast<int64_t>(plan.meshes.size()) + 4;
  os << llvm::formatv(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" "
      "font-size=\"10.5\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n<text x=\"4\" y=\"18\" font-size=\"13\">{2}: makespan "
      "{3}, bubble {4:P1}</text>\n",
      width, height, escape(title), timeline.makespan, timeline.getBubble());
  int64_t top = kTop;
  for (auto [mesh, steps] : llvm::enumerate(getSteps(plan, timeline))) {
    os << llvm::formatv("<text x=\"4\" y=\"{0}\">mesh {1}</text>\n", top + 15,
                        mesh);
    os << llvm::formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2:F1}\" "
                        "height=\"{3}\" fill=\"#f2f2f2\"/>\n",
                        kMargin, top, unit * makespan, kBox);
    int64_t lowest = steps.empty() ? 0 : steps.front().action.stage;
    for (const TimelineStep &step : steps)
      lowest = std::min(lowest, step.action.stage);
    for (const TimelineStep &step : steps)
      drawStep(step, step.action.stage != lowest, unit, top, os);
    top += kRow;
  }
  os << "</svg>\n";
}
