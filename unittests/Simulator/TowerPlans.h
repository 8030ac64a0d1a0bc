//===- TowerPlans.h - Plans of towers that tests share --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_UNITTESTS_SIMULATOR_TOWERPLANS_H
#define MESHWRIGHT_UNITTESTS_SIMULATOR_TOWERPLANS_H

#include "meshwright/Schedule/Schedule.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "gtest/gtest.h"

namespace meshwright {

/// Calls `test` with the plans of some graphs of towers for six microbatches.
inline void forEachTowerPlan(
    llvm::function_ref<void(const StageGraph &, const Plan &)> test) {
  for (llvm::StringRef text :
       {"a:2;b:3;a>b.*", "a:1;b:2=GPipe;c:1;a>c;b>c", "a:2@0-1;b:2@0-1;a>b.1",
        "a:2=ZeroBubbleH1;b:1;c:2;a>b;a.0>c;b>"}) {
    SCOPED_TRACE(text.str());
    StageGraph graph = llvm::cantFail(parseStageGraph(text));
    PlanShape shape{graph.countMeshes(), 6};
    shape.graph = graph;
    test(graph, llvm::cantFail(findSchedule("Towers")->makePlan(shape)));
  }
}

} // namespace meshwright

#endif
