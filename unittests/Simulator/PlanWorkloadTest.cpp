//===- PlanWorkloadTest.cpp - Plans as workloads --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/PlanWorkload.h"
#include "TowerPlans.h"
#include "meshwright/Simulator/Simulation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <random>

using namespace meshwright;

namespace {
Plan makePlan(llvm::StringRef name, const PlanShape &shape) {
  llvm::StringRef known = llvm::StringSwitch<llvm::StringRef>(name)
                              .Case("zbh1", "ZeroBubbleH1")
                              .Case("zbh2", "ZeroBubbleH2ZeroTxLatency")
                              .Case("zbv", "ZeroBubbleV")
                              .Case("interleavedzb", "InterleavedZeroBubble")
                              .Default(name);
  return llvm::cantFail(findSchedule(known)->makePlan(shape));
}

Simulation run(const Plan &plan, const PipelineModel &model) {
  return llvm::cantFail(simulate(makeWorkload(plan, model)));
}

std::string listPeaks(const Simulation &simulation) {
  std::vector<std::string> peaks;
  for (const Simulation::Mesh &mesh : simulation.meshes)
    peaks.push_back(std::to_string(mesh.peakBytes));
  return llvm::join(peaks, " ");
}
} // namespace

// The columns: schedule, meshes, microbatches, chunks, busy, makespan, span,
// two formulas, and the live activations of each mesh by two counts.
TEST(PlanWorkloadTest, FiguresAreTheTable) {
  auto file = llvm::MemoryBuffer::getFile(MESHWRIGHT_UNITTESTS_DIR
                                          "/Schedule/tables/figures.tsv");
  ASSERT_TRUE(file);
  llvm::SmallVector<llvm::StringRef> lines, cells;
  (*file)->getBuffer().rtrim().split(lines, '\n');
  ASSERT_EQ(lines.size(), 187u);
  for (llvm::StringRef line : llvm::ArrayRef(lines).drop_front()) {
    SCOPED_TRACE(line.str());
    cells.clear();
    line.split(cells, '\t');
    auto number = [&](size_t column) {
      return std::stoll(cells[column].str());
    };
    int64_t chunks = cells[0] == "dualpipe" ? 2 : number(3);
    Plan plan = makePlan(cells[0], {number(1), number(2), chunks});
    PipelineModel model = PipelineModel::make({});
    Simulation found = run(plan, model);
    Ticks span = 0;
    for (const Simulation::Mesh &mesh : found.meshes) {
      EXPECT_EQ(mesh.busy, number(4));
      span = std::max(span, mesh.lastStop - mesh.firstStart);
    }
    EXPECT_EQ(found.makespan, number(5));
    EXPECT_EQ(span, number(6));
    if (cells[7] != "-")
      EXPECT_EQ(found.makespan, number(7));
    if (cells[8] != "-")
      EXPECT_EQ(span, number(8));
    EXPECT_EQ(listPeaks(found), cells[9]);
    for (StageModel &stage : model.stages)
      std::swap(stage.bytesUntilInput, stage.bytesUntilWeight);
    EXPECT_EQ(listPeaks(run(plan, model)), cells[10]);
  }
}

// Two ways to the same times, for stages of any length.
TEST(PlanWorkloadTest, TimesAreThoseOfTheTimeline) {
  std::mt19937 random(11);
  for (const Schedule *schedule : getSchedules())
    for (int trial = 0; trial < 20; ++trial) {
      PlanShape shape;
      shape.meshes = 1 + random() % 5;
      shape.microbatches = 1 + random() % 12;
      shape.chunks = schedule->usualChunks;
      auto plan = schedule->makePlan(shape);
      if (!plan) {
        llvm::consumeError(plan.takeError());
        continue;
      }
      SCOPED_TRACE(schedule->name.str());
      PipelineCosts costs;
      costs.transfer = random() % 4;
      for (int64_t stage = 0; stage < 2 * shape.meshes * shape.chunks;
           ++stage) {
        ActionCosts times;
        times.forward = 1 + random() % 9;
        times.input = 1 + random() % 9;
        times.weight = 1 + random() % 9;
        times.backward = 1 + random() % 18;
        costs.stages.push_back(times);
      }
      if (trial % 2 == 1) {
        for (ActionCosts &times : costs.stages)
          times.overlapped =
              std::max(times.forward, times.backward) + random() % 2;
        std::vector<int64_t> scales(shape.microbatches);
        for (int64_t &scale : scales)
          scale = 1 + random() % 3;
        costs.scaleMicrobatches(scales);
      }
      Timeline expected = llvm::cantFail(simulatePlan(*plan, costs));
      Simulation found = run(*plan, PipelineModel::make(costs));
      EXPECT_EQ(found.makespan, expected.makespan);
      for (auto [mesh, busy] : llvm::zip(found.meshes, expected.busy))
        EXPECT_EQ(mesh.busy, busy);
      // Each item of the path starts when the one before it stops.
      Ticks time = 0;
      for (const Simulation::PathItem &item : found.criticalPath) {
        EXPECT_EQ(item.start, time);
        EXPECT_EQ(found.slack[item.item], 0);
        time = item.stop;
      }
      EXPECT_EQ(time, found.makespan);
    }
}

TEST(PlanWorkloadTest, TimesOfTowersAreThoseOfTheTimeline) {
  std::mt19937 random(12);
  forEachTowerPlan([&](const StageGraph &graph, const Plan &plan) {
    PipelineCosts costs;
    costs.transfer = 2;
    for (int64_t stage = 0; stage < graph.countStages(); ++stage) {
      ActionCosts times;
      times.forward = 1 + random() % 9;
      times.input = 1 + random() % 9;
      times.weight = 1 + random() % 9;
      times.backward = times.input + times.weight;
      costs.stages.push_back(times);
    }
    EXPECT_EQ(run(plan, PipelineModel::make(costs)).makespan,
              llvm::cantFail(simulatePlan(plan, costs)).makespan);
  });
}

// An item that is later by its slack does not make the whole longer; by one
// more, it does.
TEST(PlanWorkloadTest, SlackIsWhatCanBeLost) {
  Plan plan = makePlan("1f1b", {3, 4, 1});
  PipelineCosts costs;
  costs.transfer = 1;
  Workload workload = makeWorkload(plan, PipelineModel::make(costs));
  Simulation before = llvm::cantFail(simulate(workload));
  for (uint32_t item = 0; item < workload.items.size(); ++item)
    for (Ticks more : {Ticks(0), Ticks(1)}) {
      Workload changed = workload;
      changed.activities.push_back(workload.getActivity(item));
      changed.activities.back().duration += before.slack[item] + more;
      changed.items[item].activity = changed.activities.size() - 1;
      EXPECT_EQ(llvm::cantFail(simulate(changed)).makespan,
                before.makespan + more);
    }
}

// Parameters always, gradients from the first backward, one microbatch live.
TEST(PlanWorkloadTest, StagesHoldWhatTheirModelSays) {
  Plan plan = makePlan("gpipe", {1, 2, 1});
  PipelineModel model;
  StageModel &stage = model.stages.emplace_back();
  stage.parameterBytes = 1000;
  stage.gradientBytes = 100;
  stage.bytesUntilWeight = 10;
  stage.forwardTemporaryBytes = 1;
  stage.optimizer = 5;
  Simulation found = run(plan, model);
  EXPECT_EQ(found.makespan, 2 * 3 + 5);
  EXPECT_EQ(found.meshes[0].peakBytes, 1000 + 100 + 20);
  EXPECT_EQ(found.meshes[0].peakTime, 2);
}
