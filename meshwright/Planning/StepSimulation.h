//===- StepSimulation.h - What a layout takes, simulated --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_STEPSIMULATION_H
#define MESHWRIGHT_PLANNING_STEPSIMULATION_H

#include "meshwright/Planning/PlanSearch.h"
#include "meshwright/Schedule/Search/Problem.h"
#include <optional>
#include <vector>

namespace meshwright {

/// The stages of a layout as its cuts have them.
std::vector<StageCost> getStages(const StageCosts &costs, const Layout &layout);

/// Times of stages in whole units, with the seconds of a unit. All transfers take as
/// long as the longest.
struct UnitTimes {
  PipelineCosts costs;
  double unit = 0;
};
UnitTimes makeUnitTimes(const StageCosts &costs, const Layout &layout,
                        bool crossesDomains);

/// What the fullest device has, by the actions of its mesh in order.
void measureMemory(const StageCosts &costs, const Plan &plan, Layout &layout);

/// What the fullest device has with one microbatch in each stage of its mesh, which is
/// less than any order needs.
double findLeastMemory(const StageCosts &costs, const Layout &layout);

/// The stages of a layout as a pipeline to be ordered, in the memory there is.
PipelineProblem makeProblem(const PlanInputs &inputs, const StageCosts &costs,
                            const Layout &layout, const PipelineCosts &times);

/// The order made for the stages of a layout, in the memory there is, which is noted in
/// the layout; none if the search finds none that fits.
std::optional<Plan> makeMeasuredPlan(const PlanInputs &inputs,
                                     const StageCosts &costs, Layout &layout,
                                     const PipelineCosts &times);

/// Seconds of the step as the simulator of programs has it: transfers between
/// each two meshes take what their bytes and links take, and wait for each
/// other; each mesh runs its optimizer when it is done. Fails if meshes wait
/// for each other forever, or the step takes longer than can be counted.
llvm::Error simulateStep(const PlanInputs &inputs, const StageCosts &costs,
                         const Plan &plan, Layout &layout);

} // namespace meshwright

#endif
