//===- ScheduleTest.h - What tests of schedules share ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_UNITTESTS_SCHEDULE_SCHEDULETEST_H
#define MESHWRIGHT_UNITTESTS_SCHEDULE_SCHEDULETEST_H

#include "meshwright/Schedule/PlanFile.h"
#include "meshwright/Schedule/Schedule.h"
#include "meshwright/Schedule/Search/SearchedPlan.h"
#include "meshwright/Schedule/Timeline.h"
#include "gtest/gtest.h"
#include <string>

namespace meshwright {

inline std::string toCsv(const Plan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printCsv(plan, os);
  return text;
}

/// With the times of a plan whose actions all have the usual ones.
inline std::string toJson(const Plan &plan) {
  SearchedPlan timed;
  timed.plan = plan;
  timed.timeline = llvm::cantFail(simulatePlan(plan));
  std::string text;
  llvm::raw_string_ostream os(text);
  printJson(timed, os);
  return text;
}

/// A searched order fits into its memory, and is the same when it is read again.
inline void expectRuns(const PipelineProblem &problem,
                       const SearchedPlan &made) {
  EXPECT_TRUE(fitsMemory(problem, made.plan));
  llvm::Expected<Plan> read = parsePlan(toCsv(made.plan));
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(llvm::cantFail(simulatePlan(*read, problem.costs)).makespan,
            made.timeline.makespan);
  EXPECT_GE(made.timeline.makespan, made.lowerBound);
}

} // namespace meshwright

#endif
