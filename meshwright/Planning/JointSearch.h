//===- JointSearch.h - Cuts, placement and order together -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// With layers that differ, the best cuts depend on which stages share a mesh, and
// both on the order that the meshes then find. A local search changes a cut or a
// place at a time: first by what no order of such stages can beat, which is quick to
// tell, then by the orders themselves.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_JOINTSEARCH_H
#define MESHWRIGHT_PLANNING_JOINTSEARCH_H

#include "meshwright/Planning/StepSimulation.h"

namespace meshwright {

/// The best layout found with meshes, microbatches and recomputation as `starts` have
/// them, with its order; `starts` are alike in these, and cut. None if no order fits
/// into the memory. The same inputs give the same layout: the search ends by counted
/// work, not by time.
std::optional<Layout> searchJointly(const PlanInputs &inputs,
                                    const StageCosts &costs,
                                    llvm::ArrayRef<Layout> starts);

} // namespace meshwright

#endif
