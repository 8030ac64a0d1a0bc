//===- PlanCsv.cpp - Plans as CSV -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Target.h"
#include "meshwright/Schedule/PlanFile.h"
#include "meshwright/Schedule/Timeline.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

void fuzz::takeInput(StringRef input) {
  llvm::Expected<Plan> plan = parsePlan(input);
  if (!plan) {
    if (llvm::toString(plan.takeError()).empty())
      reportFinding("the plan is rejected without an error");
    return;
  }
  llvm::Expected<Timeline> timeline = simulatePlan(*plan, PipelineCosts());
  if (!timeline)
    reportFinding("an accepted plan does not run: " +
                  llvm::toString(timeline.takeError()));
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  return mutateText(input, seed);
}
