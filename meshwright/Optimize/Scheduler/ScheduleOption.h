//===- ScheduleOption.h - Schedules as pass options -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULER_SCHEDULEOPTION_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULER_SCHEDULEOPTION_H

#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Text/OptionParser.h"
#include "llvm/Support/CommandLine.h"
#include <memory>

namespace mlir::mpmd {

/// A schedule that comes with the compiler, or a plan from a file.
struct ScheduleOption {
  const meshwright::Schedule *schedule = nullptr;
  std::shared_ptr<const meshwright::Plan> plan; ///< If there is no schedule.
  std::string path;                             ///< Of the plan.
  int64_t sequenceChunks = 1; ///< Into how many the schedule cuts sequences.
  meshwright::StageGraph graph = {}; ///< The stages, if they are no chain.

  /// `1F1B`, `Seq1F1B:4`, `Towers:vision:2;text:1;vision>text` or `file:plan.csv`.
  std::string getName() const;
  /// Whether it has a place for weight gradients that are apart.
  bool splitsBackward() const;
  /// Whether it has overlapped pairs, whatever stages take.
  bool hasPairs() const;
  /// Whether the sums of gradients must stay apart until the backward work has
  /// its order: because that does not go from the first microbatch to the last,
  /// as sums do, or because what they are summed up to travels.
  bool needsSumsApart() const;

  bool operator==(const ScheduleOption &other) const {
    return schedule == other.schedule && path == other.path &&
           sequenceChunks == other.sequenceChunks && graph == other.graph;
  }
};

/// 1F1B, in a textual pipeline and the pass.
///
/// COMPAT(default-schedule): All other ways in take GPipe.
ScheduleOption getDefaultSchedule();
/// GPipe, in a configuration.
ScheduleOption getFrontDefaultSchedule();

/// Reads `NAME`, `NAME:CHUNKS`, `NAME:TOWERS`, all also after `builtin:`, or `file:PATH`, and the
/// file. The error says
/// which names there are, or where in the file something is wrong.
llvm::Expected<ScheduleOption> parseSchedule(llvm::StringRef text);

/// Prints what parses to the same schedule.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const ScheduleOption &option);

/// The schedule of the textual pipeline: a few bare names, in their own case,
/// and everything that has a prefix.
struct PrefixedScheduleOption : ScheduleOption {};

bool parseOption(llvm::cl::Option &option, llvm::StringRef text,
                 ScheduleOption &value);
bool parseOption(llvm::cl::Option &option, llvm::StringRef text,
                 PrefixedScheduleOption &value);

} // namespace mlir::mpmd

namespace llvm::cl {

template <>
class parser<mlir::mpmd::ScheduleOption>
    : public meshwright::OptionParser<mlir::mpmd::ScheduleOption> {
public:
  using OptionParser::OptionParser;
  StringRef getValueName() const override { return "schedule"; }
};
template <>
class parser<mlir::mpmd::PrefixedScheduleOption>
    : public meshwright::OptionParser<mlir::mpmd::PrefixedScheduleOption> {
public:
  using OptionParser::OptionParser;
  StringRef getValueName() const override { return "schedule"; }
};

} // namespace llvm::cl

#endif
