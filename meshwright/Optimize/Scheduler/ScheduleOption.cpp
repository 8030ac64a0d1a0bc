//===- ScheduleOption.cpp - Schedules as pass options ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/ScheduleOption.h"
#include "meshwright/Optimize/Scheduler/OverlapMarks.h"
#include "meshwright/Schedule/PlanFile.h"
#include "meshwright/Text/QuotedText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir::mpmd;

std::string ScheduleOption::getName() const {
  if (!schedule)
    return "file:" + path;
  std::string name = schedule->name.str();
  if (!graph.isChain())
    return name + ":" + toString(graph);
  return sequenceChunks > 1 ? name + ":" + std::to_string(sequenceChunks)
                            : name;
}

bool ScheduleOption::splitsBackward() const {
  if (schedule)
    return schedule->splitsBackward ||
           llvm::any_of(graph.towers, [](const meshwright::Tower &tower) {
             return meshwright::findSchedule(tower.schedule)->splitsBackward;
           });
  return llvm::any_of(plan->meshes, [](const meshwright::ActionList &list) {
    return llvm::any_of(list, [](const meshwright::Action &action) {
      // The late half can follow an overlapped pair.
      return action.kind == meshwright::ActionKind::Weight || action.joinsNext;
    });
  });
}

bool ScheduleOption::hasPairs() const {
  if (!schedule)
    return hasOverlaps(*plan);
  if (schedule->isSearched || schedule->takesTowers)
    return false;
  // Any plan has some, if it has enough microbatches.
  constexpr int64_t kMeshes = 2, kMicrobatches = 8;
  llvm::Expected<meshwright::Plan> some =
      schedule->makePlan({kMeshes, kMicrobatches, schedule->usualChunks});
  if (some)
    return hasOverlaps(*some);
  llvm::consumeError(some.takeError());
  return false;
}

bool ScheduleOption::needsSumsApart() const {
  if (schedule)
    return schedule->needsSumsApart;
  std::map<int64_t, int64_t> latest;
  for (const meshwright::ActionList &list : plan->meshes)
    for (const meshwright::Action &action : list) {
      if (!meshwright::isLast(action.kind))
        continue;
      auto [last, isFirst] =
          latest.try_emplace(action.stage, action.microbatch);
      if (action.microbatch < last->second)
        return true;
      last->second = action.microbatch;
    }
  return false;
}

ScheduleOption mlir::mpmd::getDefaultSchedule() {
  return {meshwright::findSchedule("1F1B"), nullptr, ""};
}

ScheduleOption mlir::mpmd::getFrontDefaultSchedule() {
  return {meshwright::findSchedule("GPipe"), nullptr, ""};
}

llvm::Expected<ScheduleOption> mlir::mpmd::parseSchedule(llvm::StringRef text) {
  llvm::StringRef path = text;
  if (path.consume_front("file:")) {
    std::string unquoted;
    if (!meshwright::takeText(path, "", unquoted) || !path.empty())
      return llvm::createStringError(
          "a path in quotes must end with them, got " + text);
    path = unquoted;
    llvm::Expected<meshwright::Plan> plan = meshwright::readPlanFile(path);
    if (!plan)
      return plan.takeError();
    return ScheduleOption{
        nullptr, std::make_shared<const meshwright::Plan>(std::move(*plan)),
        path.str()};
  }
  llvm::Expected<meshwright::NamedSchedule> named =
      meshwright::parseScheduleName(text);
  if (!named)
    return named.takeError();
  return ScheduleOption{named->schedule, nullptr, "", named->sequenceChunks,
                        std::move(named->graph)};
}

llvm::raw_ostream &mlir::mpmd::operator<<(llvm::raw_ostream &os,
                                          const ScheduleOption &option) {
  if (option.schedule)
    return os << "builtin:" << option.getName();
  if (meshwright::isPlainText(option.path))
    return os << "file:" << option.path;
  os << "{file:";
  meshwright::printQuoted(option.path, os);
  return os << '}';
}

bool mlir::mpmd::parseOption(llvm::cl::Option &option, llvm::StringRef text,
                             ScheduleOption &value) {
  llvm::Expected<ScheduleOption> parsed = parseSchedule(text);
  if (!parsed)
    return option.error(llvm::toString(parsed.takeError()));
  value = std::move(*parsed);
  return false;
}

bool mlir::mpmd::parseOption(llvm::cl::Option &option, llvm::StringRef text,
                             PrefixedScheduleOption &value) {
  constexpr llvm::StringLiteral kBare[] = {"none", "1F1B", "Circular"};
  if (!llvm::is_contained(kBare, text) && !text.starts_with("builtin:") &&
      !text.starts_with("file:")) {
    std::string problem = "unknown pipeline schedule '" + text.str() +
                          "', expected " +
                          llvm::join(std::begin(kBare), std::end(kBare), ", ") +
                          ", builtin:NAME or file:PATH; ";
    const meshwright::Schedule *meant = meshwright::findSchedule(text);
    if (!meant)
      return option.error(problem + meshwright::listSchedules(text));
    bool isBare = llvm::is_contained(kBare, meant->name);
    return option.error(problem + "did you mean " + (isBare ? "" : "builtin:") +
                        meant->name + "?");
  }
  return parseOption(option, text, static_cast<ScheduleOption &>(value));
}
