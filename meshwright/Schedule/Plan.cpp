//===- Plan.cpp - What each mesh of a pipeline does, in order -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Plan.h"
#include <algorithm>
#include <tuple>

using namespace meshwright;

/// Of the kinds, in their order.
static constexpr llvm::StringLiteral kActionLetters = "FBIWEGST";

char meshwright::getLetter(ActionKind kind) {
  return kActionLetters[static_cast<int>(kind)];
}

std::optional<ActionKind> meshwright::findKind(llvm::StringRef letter) {
  size_t place =
      letter.size() == 1 ? kActionLetters.find(letter) : kActionLetters.npos;
  if (place == kActionLetters.npos)
    return std::nullopt;
  return static_cast<ActionKind>(place);
}

bool meshwright::isInChain(ActionKind kind) {
  return kind <= ActionKind::Weight;
}

bool meshwright::isForward(ActionKind kind) {
  return kind == ActionKind::Forward || kind == ActionKind::Embedding ||
         kind == ActionKind::Head;
}

bool meshwright::isLast(ActionKind kind) {
  return !isForward(kind) && kind != ActionKind::Input;
}

bool Action::operator==(const Action &other) const {
  return std::tie(stage, kind, microbatch, joinsNext) ==
         std::tie(other.stage, other.kind, other.microbatch, other.joinsNext);
}

size_t Plan::countActions() const {
  size_t count = 0;
  for (const ActionList &list : meshes)
    count += list.size();
  return count;
}

int64_t Plan::countMicrobatches() const {
  int64_t count = 0;
  for (const ActionList &list : meshes)
    for (const Action &action : list)
      count = std::max(count, action.microbatch + 1);
  return count;
}

bool Plan::isTraining(int64_t stages, int64_t microbatches) const {
  int64_t forwards = 0, backwards = 0;
  for (const ActionList &list : meshes)
    for (const Action &action : list) {
      forwards += action.kind == ActionKind::Forward;
      backwards += action.kind == ActionKind::Backward ||
                   action.kind == ActionKind::Input;
    }
  return forwards == stages * microbatches &&
         backwards == stages * microbatches;
}

llvm::raw_ostream &meshwright::operator<<(llvm::raw_ostream &os,
                                          const Action &action) {
  return os << action.stage << getLetter(action.kind) << action.microbatch;
}

std::string meshwright::toString(const Action &action) {
  std::string text;
  llvm::raw_string_ostream(text) << action;
  return text;
}

void meshwright::printCsv(const Plan &plan, llvm::raw_ostream &os) {
  if (!plan.graph.isChain())
    os << kTowersKeyword << toString(plan.graph) << '\n';
  for (const ActionList &list : plan.meshes) {
    // A row that is not there would be another number of meshes.
    if (list.empty())
      os << ',';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0)
        os << ',';
      if (!list[i].joinsNext) {
        os << list[i];
        continue;
      }
      os << '(' << list[i] << ';' << list[i + 1] << ")OVERLAP_F_B";
      ++i;
    }
    os << '\n';
  }
}
