//===- Problem.cpp - What a schedule is made for --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Search/Problem.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright;

bool meshwright::fitsMemory(const PipelineProblem &problem, const Plan &plan) {
  return llvm::all_of(llvm::zip_equal(plan.meshes, problem.mostLive),
                      [](const auto &pair) {
                        auto [list, most] = pair;
                        return countPeakLive(list).untilWeight <= most;
                      });
}
