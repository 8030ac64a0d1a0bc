//===- TimelineText.cpp - A timeline as text ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A unit of time is a few columns wide; a step that takes longer is filled up
// with `=`, and an idle unit is a dot:
//
//   mesh 0 | F0 F1 .  .  B0=== .  B1===
//   mesh 1 | .  F0 B0=== F1 B1=== .  .
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/TimelineSteps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace meshwright;

/// The columns of a unit: each label fits into its interval, with a space.
static int64_t
getUnitWidth(const std::vector<std::vector<TimelineStep>> &meshes) {
  int64_t width = 2;
  for (const auto &steps : meshes)
    for (const TimelineStep &step : steps) {
      int64_t units =
          std::max<int64_t>(1, step.interval.stop - step.interval.start);
      int64_t columns = static_cast<int64_t>(step.label.size()) + 1;
      width = std::max(width, (columns + units - 1) / units);
    }
  return width;
}

static std::string drawMesh(const std::vector<TimelineStep> &steps,
                            int64_t width, int64_t makespan) {
  std::string line(makespan * width, ' ');
  for (int64_t unit = 0; unit < makespan; ++unit)
    line[unit * width] = '.';
  for (const TimelineStep &step : steps) {
    int64_t first = step.interval.start * width;
    int64_t last = step.interval.stop * width - 1;
    // One unit long, a step needs no filling.
    char filler = step.interval.stop - step.interval.start > 1 ? '=' : ' ';
    for (int64_t column = first; column < last; ++column) {
      size_t letter = column - first;
      line[column] = letter < step.label.size() ? step.label[letter] : filler;
    }
    line[last] = ' ';
  }
  return llvm::StringRef(line).rtrim().str();
}

static void printCounts(llvm::StringRef what, llvm::ArrayRef<int64_t> counts,
                        llvm::raw_ostream &os) {
  os << what << ":";
  for (int64_t count : counts)
    os << ' ' << count;
  os << '\n';
}

static void printMetrics(const Plan &plan, const Timeline &timeline,
                         llvm::raw_ostream &os) {
  os << llvm::formatv("makespan {0}, bubble {1:P1}\n", timeline.makespan,
                      timeline.getBubble());
  if (timeline.longestSpan != timeline.makespan)
    os << llvm::formatv("between first and last action of a mesh at most {0}, "
                        "bubble {1:P1}\n",
                        timeline.longestSpan, timeline.getBubbleOfSpan());
  std::vector<int64_t> untilWeight, untilInput;
  for (const ActionList &list : plan.meshes) {
    LiveCounts live = countPeakLive(list);
    untilWeight.push_back(live.untilWeight);
    untilInput.push_back(live.untilInput);
  }
  printCounts(plan.sequenceChunks > 1
                  ? "peak live chunks of microbatches per mesh"
                  : "peak live microbatches per mesh",
              untilWeight, os);
  if (untilInput != untilWeight)
    printCounts("until the gradient of their input", untilInput, os);
}

void meshwright::printTimeline(const Plan &plan, const Timeline &timeline,
                               llvm::raw_ostream &os) {
  std::vector<std::vector<TimelineStep>> meshes = getSteps(plan, timeline);
  int64_t width = getUnitWidth(meshes);
  size_t digits = std::to_string(meshes.size() - 1).size();
  std::vector<std::string> towers = listTowers(plan);
  size_t widest = 0;
  for (const std::string &names : towers)
    widest = std::max(widest, names.size());
  for (auto [mesh, steps] : llvm::enumerate(meshes))
    os << llvm::left_justify(towers[mesh], widest) << (widest > 0 ? " " : "")
       << "mesh " << llvm::right_justify(std::to_string(mesh), digits) << " | "
       << drawMesh(steps, width, timeline.makespan) << '\n';
  printMetrics(plan, timeline, os);
}
