//===- Drawing.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The colours are those of Okabe and Ito, which people with any kind of colour
// blindness can distinguish, and grey.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/Drawing.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace meshwright;

static constexpr BarStyle kStyles[kNumItemKinds] = {
    {"forward", "F", "#56b4e9", "#3f9bd0", 74},
    {"backward", "B", "#e69f00", "#cc8c00", 172},
    {"weight gradient", "W", "#1fb389", "#129a74", 36},
    {"optimizer", "O", "#cc79a7", "#b96392", 175},
    {"transfer", "T", "#f0e442", "#d8cb20", 227},
    {"collective", "C", "#e8743b", "#d55e00", 166},
    {"other", "X", "#bdbdbd", "#a3a3a3", 250},
    {"overlapped", "P", "#a6cee3", "#86b4cf", 152},
};

const BarStyle &meshwright::getStyle(ItemKind kind) {
  return kStyles[static_cast<unsigned>(kind)];
}

std::optional<ItemKind> meshwright::parseItemKind(llvm::StringRef name) {
  for (unsigned i = 0; i < kNumItemKinds; ++i)
    if (getName(static_cast<ItemKind>(i)) == name)
      return static_cast<ItemKind>(i);
  return std::nullopt;
}

/// A number with three digits that count.
static std::string printShort(double number) {
  double size = std::fabs(number);
  int digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.*f", digits, number);
  if (digits > 0 && text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
      text.pop_back();
  }
  return text;
}

std::string meshwright::printBytes(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  unsigned unit = 0;
  for (; std::fabs(bytes) >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return printShort(bytes) + " " + units[unit];
}

std::string Drawing::printTime(double time) const {
  if (!inSeconds)
    return printShort(time);
  double size = std::fabs(time);
  if (size >= 1 || size == 0)
    return printShort(time) + " s";
  if (size >= 1e-3)
    return printShort(time * 1e3) + " ms";
  if (size >= 1e-6)
    return printShort(time * 1e6) + " µs";
  return printShort(time * 1e9) + " ns";
}

std::string Drawing::printAmount(double amount) const {
  return inBytes ? printBytes(amount) : printShort(amount);
}

bool Drawing::hasSeveralStages() const {
  std::vector<int32_t> stages(meshes.size(), -1);
  for (const Bar &bar : bars) {
    if (bar.stage < 0 || bar.isTransfer())
      continue;
    int32_t &stage = stages[bar.mesh];
    if (stage >= 0 && stage != bar.stage)
      return true;
    stage = bar.stage;
  }
  return false;
}

std::string Drawing::getLabel(const Bar &bar) const {
  std::string label = getStyle(bar.kind).letter.str();
  if (bar.microbatch >= 0)
    label += std::to_string(bar.microbatch);
  return label;
}

/// The tower of a stage that Python has named, `vision_stage0` or its backward
/// pass `vision_stage0(1)`; empty for anything else.
static llvm::StringRef getTower(llvm::StringRef origin) {
  if (origin.ends_with(")"))
    origin = origin.take_front(origin.rfind('('));
  llvm::StringRef name = origin.rtrim("0123456789");
  bool isStage = name.size() < origin.size() && name.consume_back("_stage");
  return isStage ? name : "";
}

void Drawing::findTowers() {
  std::vector<llvm::SetVector<llvm::StringRef>> found(meshes.size());
  llvm::StringSet<> all;
  for (const Bar &bar : bars) {
    llvm::SmallVector<llvm::StringRef> origins;
    llvm::StringRef(names.get(bar.origins)).split(origins, ", ");
    for (llvm::StringRef origin : origins)
      if (llvm::StringRef tower = getTower(origin); !tower.empty()) {
        found[bar.mesh].insert(tower);
        all.insert(tower);
      }
  }
  if (all.size() < 2) // A chain of which the user has named the stages so.
    return;
  for (auto [mesh, towers] : llvm::zip_equal(meshes, found))
    mesh.tower = llvm::join(towers, "+");
}

std::string Drawing::summarize() const {
  std::string text = "makespan " + printTime(makespan);
  text += llvm::formatv(", bubble {0:P1}", bubble);
  if (utilization)
    text += llvm::formatv(", utilization {0:P1}", *utilization);
  if (!recorded.empty())
    text += ", recorded " + printTime(recordedMakespan);
  return text;
}
