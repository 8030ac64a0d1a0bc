//===- TimelineSvg.cpp - A timeline as an image ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A row for each mesh, a box for each step. Colours distinguish forwards, backwards
// and their halves; boxes of a mesh's second stage are darker.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/RowsSvg.h"
#include "meshwright/Schedule/TimelineSteps.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace meshwright;

/// Light enough for black letters; the second is for later stages of a mesh.
static std::pair<llvm::StringRef, llvm::StringRef> getColours(ActionKind kind) {
  switch (getLetter(kind)) {
  case 'F':
    return {"#9ecae9", "#5ba3d0"};
  case 'B':
    return {"#a1d99b", "#5cb563"};
  case 'I':
    return {"#fdd0a2", "#f5a04f"};
  case 'E':
  case 'S':
    return {"#c6dbef", "#c6dbef"};
  case 'G':
  case 'T':
    return {"#c7e9c0", "#c7e9c0"};
  default:
    return {"#dadaeb", "#a8a5cf"};
  }
}

void meshwright::printTimelineSvg(const Plan &plan, const Timeline &timeline,
                                  llvm::StringRef title,
                                  llvm::raw_ostream &os) {
  SvgImage image;
  image.title = llvm::formatv("{0}: makespan {1}, bubble {2:P1}", title,
                              timeline.makespan, timeline.getBubble())
                    .str();
  image.makespan = double(timeline.makespan);
  std::vector<std::string> towers = listTowers(plan);
  for (auto [mesh, steps] : llvm::enumerate(getSteps(plan, timeline))) {
    SvgRow &row = image.rows.emplace_back();
    row.name = towers[mesh] + (towers[mesh].empty() ? "" : " ") + "mesh " +
               std::to_string(mesh);
    row.beginsGroup = mesh > 0 && towers[mesh] != towers[mesh - 1];
    int64_t lowest = steps.empty() ? 0 : steps.front().action.stage;
    for (const TimelineStep &step : steps)
      lowest = std::min(lowest, step.action.stage);
    for (const TimelineStep &step : steps) {
      auto [first, later] = getColours(step.action.kind);
      row.boxes.push_back(
          {step.label,
           llvm::formatv("{0}, {1} to {2}", step.label, step.interval.start,
                         step.interval.stop)
               .str(),
           step.action.stage == lowest ? first : later,
           double(step.interval.start), double(step.interval.stop)});
    }
  }
  printSvg(image, os);
}
