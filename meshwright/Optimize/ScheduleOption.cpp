//===- ScheduleOption.cpp - Builtin schedules as pass options -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/ScheduleOption.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::mpmd;

ScheduleOption mlir::mpmd::getDefaultSchedule() {
  return {meshwright::findSchedule("1F1B")};
}

llvm::raw_ostream &mlir::mpmd::operator<<(llvm::raw_ostream &os,
                                          const ScheduleOption &option) {
  return os << "builtin:" << option.schedule->name;
}

bool llvm::cl::parser<ScheduleOption>::parse(Option &option, StringRef name,
                                             StringRef text,
                                             ScheduleOption &value) {
  value.schedule = meshwright::findSchedule(text);
  if (value.schedule)
    return false;
  std::string known;
  raw_string_ostream os(known);
  interleaveComma(
      meshwright::getSchedules(), os,
      [&](const meshwright::Schedule *schedule) { os << schedule->name; });
  return option.error("unknown pipeline schedule '" + text + "', known are " +
                      known);
}

void llvm::cl::parser<ScheduleOption>::printOptionDiff(
    const Option &option, const ScheduleOption &value,
    const OptVal &defaultValue, size_t globalWidth) const {
  printOptionName(option, globalWidth);
  outs() << "= " << value << "\n";
}
