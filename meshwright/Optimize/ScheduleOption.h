//===- ScheduleOption.h - Builtin schedules as pass options -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_SCHEDULEOPTION_H
#define MESHWRIGHT_OPTIMIZE_SCHEDULEOPTION_H

#include "meshwright/Schedule/Schedule.h"
#include "llvm/Support/CommandLine.h"

namespace mlir::mpmd {

/// A schedule given by its name, with or without `builtin:` before it.
struct ScheduleOption {
  const meshwright::Schedule *schedule = nullptr;

  bool operator==(const ScheduleOption &other) const {
    return schedule == other.schedule;
  }
};

/// 1F1B.
ScheduleOption getDefaultSchedule();

llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const ScheduleOption &option);

} // namespace mlir::mpmd

namespace llvm::cl {

template <>
class parser<mlir::mpmd::ScheduleOption>
    : public basic_parser<mlir::mpmd::ScheduleOption> {
public:
  using basic_parser::basic_parser;
  bool parse(Option &option, StringRef name, StringRef text,
             mlir::mpmd::ScheduleOption &value);
  StringRef getValueName() const override { return "schedule"; }
  void printOptionDiff(const Option &option,
                       const mlir::mpmd::ScheduleOption &value,
                       const OptVal &defaultValue, size_t globalWidth) const;
};

} // namespace llvm::cl

#endif
