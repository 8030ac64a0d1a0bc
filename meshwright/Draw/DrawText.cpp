//===- DrawText.cpp - A drawing in a terminal -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A column is a part of the makespan, and has the letter of what took most of
// it; in which a mesh idled for the most part, a dot:
//
//   m1 |FFFFFFFF......BBBBBBBBBBBBOO|  busy 0.21 s, bubble 21.4%
//   m2 |....FFFFFFFFBBBBBBBBBBBB..OO|
//
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/WriteDrawing.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace meshwright;

namespace {
class TextWriter {
public:
  TextWriter(const Drawing &drawing, unsigned columns, bool withColours,
             llvm::raw_ostream &os)
      : drawing(drawing), columns(columns), withColours(withColours), os(os) {}

  void write();

private:
  /// For each column the time that each kind takes of it.
  using Shares = std::vector<std::array<double, kNumItemKinds>>;
  std::vector<Shares> makeShares(llvm::ArrayRef<Drawing::Bar> bars) const;
  void writeRow(const std::string &name, const Shares &shares);
  void writeLegend();
  void writeEdges();
  void writeDifferences();
  double getTime() const {
    return std::max(drawing.makespan, drawing.recordedMakespan);
  }

  const Drawing &drawing;
  unsigned columns;
  bool withColours;
  llvm::raw_ostream &os;
  size_t nameWidth = 0;
};
} // namespace

std::vector<TextWriter::Shares>
TextWriter::makeShares(llvm::ArrayRef<Drawing::Bar> bars) const {
  std::vector<Shares> meshes(drawing.meshes.size(), Shares(columns));
  double perColumn = getTime() > 0 ? getTime() / columns : 1;
  for (const Drawing::Bar &bar : bars) {
    if (bar.isTransfer())
      continue;
    auto clamp = [&](double column) {
      return static_cast<unsigned>(std::clamp(column, 0., columns - 1.));
    };
    unsigned first = clamp(bar.start / perColumn);
    unsigned last = clamp(bar.stop / perColumn);
    for (unsigned column = first; column <= last; ++column) {
      double start = std::max(bar.start, column * perColumn);
      double stop = std::min(bar.stop, (column + 1) * perColumn);
      meshes[bar.mesh][column][static_cast<unsigned>(bar.kind)] +=
          std::max(0., stop - start) / perColumn;
    }
  }
  return meshes;
}

void TextWriter::writeRow(const std::string &name, const Shares &shares) {
  os << llvm::left_justify(name, nameWidth) << " |";
  int colour = -1;
  auto change = [&](int other) {
    if (withColours && other != colour)
      os << (other < 0 ? std::string("\x1b[0m")
                       : llvm::formatv("\x1b[30;48;5;{0}m", other).str());
    colour = other;
  };
  for (const auto &column : shares) {
    unsigned kind = llvm::max_element(column) - column.begin();
    double busy = 0;
    for (double share : column)
      busy += share;
    if (busy < 0.5) {
      change(-1);
      os << '.';
      continue;
    }
    const BarStyle &style = getStyle(static_cast<ItemKind>(kind));
    change(style.terminal);
    os << style.letter;
  }
  change(-1);
  os << '|';
}

void TextWriter::writeLegend() {
  std::array<bool, kNumItemKinds> isThere{};
  for (const Drawing::Bar &bar : drawing.bars)
    isThere[static_cast<unsigned>(bar.kind)] |= !bar.isTransfer();
  for (unsigned kind = 0; kind < kNumItemKinds; ++kind) {
    if (!isThere[kind])
      continue;
    const BarStyle &style = getStyle(static_cast<ItemKind>(kind));
    if (withColours)
      os << llvm::formatv("\x1b[30;48;5;{0}m", style.terminal);
    os << style.letter << (withColours ? "\x1b[0m" : "") << ' ' << style.text
       << ", ";
  }
  os << ". idle; a column is " << drawing.printTime(getTime() / double(columns))
     << "\n";
}

void TextWriter::writeEdges() {
  for (const Drawing::Edge &edge : drawing.edges)
    os << llvm::formatv("{0} -> {1}: {2} transfers, {3}, busy {4}, slack {5}\n",
                        toLine(drawing.meshes[edge.source].name),
                        toLine(drawing.meshes[edge.target].name),
                        edge.transfers, printBytes(edge.bytes),
                        drawing.printTime(edge.busy),
                        drawing.printTime(edge.slack));
}

void TextWriter::writeDifferences() {
  if (drawing.recorded.empty())
    return;
  constexpr size_t kMost = 12;
  os << "simulated and recorded, the largest differences first:\n";
  for (auto [index, each] : llvm::enumerate(drawing.differences)) {
    if (index == kMost) {
      os << llvm::formatv("  and {0} more\n",
                          drawing.differences.size() - kMost);
      break;
    }
    os << llvm::formatv("  {0} on {1}: {2} runs, {3}; recorded {4} runs, {5}\n",
                        toLine(drawing.names.get(each.name)),
                        toLine(drawing.meshes[each.mesh].name),
                        each.simulatedRuns, drawing.printTime(each.simulated),
                        each.recordedRuns, drawing.printTime(each.recorded));
  }
}

void TextWriter::write() {
  os << toLine(drawing.title) << ": " << drawing.summarize() << "\n";
  bool isBeside = !drawing.recorded.empty();
  for (const Drawing::Mesh &mesh : drawing.meshes)
    nameWidth = std::max(nameWidth, toLine(mesh.getLabel()).size());
  std::vector<Shares> simulated = makeShares(drawing.bars);
  std::vector<Shares> recorded = makeShares(drawing.recorded);
  if (isBeside)
    nameWidth = std::max(nameWidth, size_t(10));
  for (auto [index, mesh] : llvm::enumerate(drawing.meshes)) {
    writeRow(toLine(mesh.getLabel()), simulated[index]);
    os << llvm::formatv("  bubble {0:P1}", mesh.bubble);
    if (mesh.peak > 0)
      os << ", peak " << drawing.printAmount(mesh.peak)
         << (drawing.inBytes ? "" : " live");
    os << "\n";
    if (isBeside) {
      writeRow("  recorded", recorded[index]);
      os << "\n";
    }
  }
  writeLegend();
  if (!drawing.criticalPath.empty())
    os << llvm::formatv("critical path: {0} of {1} items\n",
                        drawing.criticalPath.size(), drawing.bars.size());
  writeEdges();
  writeDifferences();
}

void meshwright::printText(const Drawing &drawing, unsigned columns,
                           bool withColours, llvm::raw_ostream &os) {
  TextWriter(drawing, columns, withColours, os).write();
}
