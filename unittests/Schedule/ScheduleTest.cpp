//===- ScheduleTest.cpp - Orders that the schedules demand ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Schedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <vector>

using namespace meshwright;

namespace {
constexpr WorkKind F = WorkKind::Forward;
constexpr WorkKind B = WorkKind::Backward;
constexpr WorkKind W = WorkKind::Weight;

std::vector<WorkItem> makeItems(int64_t microbatches,
                                std::vector<WorkKind> kinds) {
  std::vector<WorkItem> items;
  for (int64_t i = 0; i < microbatches; ++i)
    for (WorkKind kind : kinds)
      items.push_back({kind, i, std::nullopt});
  return items;
}

/// The order that a relation demands, if it is total; empty if it is not.
std::vector<WorkItem> sortTotally(std::vector<WorkItem> items,
                                  const Schedule &schedule,
                                  const MeshPosition &mesh) {
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t j = i + 1; j < items.size(); ++j)
      if (schedule.mustPrecede(items[i], items[j], mesh) ==
          schedule.mustPrecede(items[j], items[i], mesh))
        return {};
  llvm::sort(items, [&](const WorkItem &a, const WorkItem &b) {
    return schedule.mustPrecede(a, b, mesh);
  });
  return items;
}

std::string print(const std::vector<WorkItem> &items) {
  std::string text;
  for (const WorkItem &item : items)
    text += llvm::formatv("{0}{1} ", "FBW"[static_cast<int>(item.kind)],
                          item.microbatch);
  return text;
}

std::vector<MeshPosition> makeMeshes(int64_t count) {
  std::vector<MeshPosition> meshes;
  for (int64_t i = 0; i < count; ++i)
    meshes.push_back({i, count, i});
  return meshes;
}
} // namespace

TEST(ScheduleTest, NamesAreFoundInAnyCaseAndWithPrefix) {
  for (const Schedule *schedule : getSchedules()) {
    EXPECT_EQ(findSchedule(schedule->name), schedule);
    EXPECT_EQ(findSchedule(schedule->name.upper()), schedule);
    EXPECT_EQ(findSchedule("builtin:" + schedule->name.str()), schedule);
  }
  EXPECT_EQ(findSchedule("1F2B"), nullptr);
  EXPECT_EQ(findSchedule(""), nullptr);
}

TEST(ScheduleTest, NoPairIsOrderedBothWays) {
  for (const Schedule *schedule : getSchedules()) {
    // The warm-up rows of the second family order whole groups; its data flow
    // keeps them apart.
    if (schedule->name.starts_with("ZeroBubbleH2") || schedule->findProblem)
      continue;
    for (int64_t count : {1, 2, 4, 7})
      for (const MeshPosition &mesh : makeMeshes(count)) {
        SCOPED_TRACE(llvm::formatv("{0} mesh {1} of {2}", schedule->name,
                                   mesh.index, count)
                         .str());
        auto items = makeItems(6, {F, B, W});
        for (WorkItem &item : items)
          item.stage = 0;
        for (const WorkItem &a : items)
          for (const WorkItem &b : items)
            EXPECT_FALSE(schedule->mustPrecede(a, b, mesh) &&
                         schedule->mustPrecede(b, a, mesh));
      }
  }
}

TEST(ScheduleTest, GPipeRunsAllForwardsFirst) {
  auto order = sortTotally(makeItems(3, {B, F}), *findSchedule("GPipe"),
                           {0, 4, std::nullopt});
  EXPECT_EQ(print(order), "F0 F1 F2 B0 B1 B2 ");
}

// Figure 4 of the PipeDream paper: after N - m forwards, one backward for each.
TEST(ScheduleTest, OneForwardOneBackwardKeepsAsManyInFlightAsMeshesFollow) {
  const Schedule &schedule = *findSchedule("1F1B");
  for (int64_t count : {1, 2, 4, 8})
    for (const MeshPosition &mesh : makeMeshes(count)) {
      int64_t microbatches = 2 * count + 1, inFlight = count - mesh.index;
      // The published order, by its definition.
      std::vector<WorkItem> figure;
      for (int64_t i = 0; i < microbatches + inFlight; ++i) {
        if (i < microbatches)
          figure.push_back({F, i, std::nullopt});
        if (i - inFlight + 1 >= 0 && i - inFlight + 1 < microbatches)
          figure.push_back({B, i - inFlight + 1, std::nullopt});
      }
      SCOPED_TRACE(llvm::formatv("mesh {0} of {1}: {2}", mesh.index, count,
                                 print(figure))
                       .str());
      for (size_t i = 0; i < figure.size(); ++i)
        for (size_t j = i + 1; j < figure.size(); ++j)
          EXPECT_FALSE(schedule.mustPrecede(figure[j], figure[i], mesh))
              << print({figure[j], figure[i]});
      // Neighbours of different kinds are ordered by the relation itself.
      for (size_t i = inFlight; i + 1 < figure.size() - inFlight; ++i)
        if (figure[i].kind != figure[i + 1].kind)
          EXPECT_TRUE(schedule.mustPrecede(figure[i], figure[i + 1], mesh))
              << print({figure[i], figure[i + 1]});
    }
}

TEST(ScheduleTest, LastMeshAlternatesWhereTheOthersRunGPipe) {
  const Schedule &schedule = *findSchedule("GPipeBut1F1BForLastMesh");
  WorkItem forward{F, 1, std::nullopt}, backward{B, 0, std::nullopt};
  EXPECT_TRUE(schedule.mustPrecede(forward, backward, {0, 3, std::nullopt}));
  EXPECT_TRUE(schedule.mustPrecede(backward, forward, {2, 3, std::nullopt}));
}

TEST(ScheduleTest, CircularCountsBackwardStagesDown) {
  std::vector<WorkItem> items;
  for (WorkKind kind : {F, B})
    for (int64_t stage : {0, 2})
      for (int64_t microbatch : {0, 1, 2, 3})
        items.push_back({kind, microbatch, stage});
  auto name = [](const std::vector<WorkItem> &order) {
    std::string text;
    for (const WorkItem &item : order)
      text += llvm::formatv("{0}{1}.{2} ", "FBW"[static_cast<int>(item.kind)],
                            item.microbatch, *item.stage);
    return text;
  };
  MeshPosition mesh{0, 2, std::nullopt};
  EXPECT_EQ(name(sortTotally(items, *findSchedule("Circular"), mesh)),
            "F0.0 F1.0 F0.2 F1.2 F2.0 F3.0 F2.2 F3.2 "
            "B0.2 B1.2 B0.0 B1.0 B2.2 B3.2 B2.0 B3.0 ");
  EXPECT_EQ(name(sortTotally(
                items, *findSchedule("CircularWithReversedBackward"), mesh)),
            "F0.0 F1.0 F0.2 F1.2 F2.0 F3.0 F2.2 F3.2 "
            "B3.2 B2.2 B3.0 B2.0 B1.2 B0.2 B1.0 B0.0 ");
}

TEST(ScheduleTest, WrapAroundStartsWithTheMeshsOwnMicrobatch) {
  const Schedule &schedule = *findSchedule("ParallelPipelinesWithWrapAround");
  for (int64_t count : {1, 2, 5})
    for (const MeshPosition &mesh : makeMeshes(count)) {
      auto order = sortTotally(makeItems(count, {F}), schedule, mesh);
      ASSERT_EQ(order.size(), static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i)
        EXPECT_EQ(order[i].microbatch, (mesh.index - i + count) % count);
    }
  MeshPosition nameless{0, 2, std::nullopt};
  EXPECT_TRUE(schedule.findProblem({F, 0, {}}, {F, 1, {}}, nameless));
  EXPECT_TRUE(schedule.findProblem({F, 0, {}}, {B, 1, {}}, {0, 2, 0}));
  EXPECT_FALSE(schedule.findProblem({F, 0, {}}, {F, 1, {}}, {0, 2, 0}));
}

// The number of forwards before the first backward: 2(N - m) - 1 and half or a
// whole N - m - 1 more for each unit of latency.
TEST(ScheduleTest, SecondZeroBubbleWarmsUpLongerForSlowerTransfers) {
  struct Case {
    const char *name;
    int64_t halves;
  };
  for (Case test : {Case{"ZeroBubbleH2ZeroTxLatency", 0},
                    Case{"ZeroBubbleH2HalfTxLatency", 1},
                    Case{"ZeroBubbleH2FullTxLatency", 2}})
    for (const MeshPosition &mesh : makeMeshes(4)) {
      int64_t remaining = 4 - mesh.index;
      int64_t warmUp = 2 * remaining - 1 + test.halves * (remaining - 1);
      const Schedule &schedule = *findSchedule(test.name);
      for (int64_t i = 0; i < 20; ++i)
        EXPECT_EQ(schedule.mustPrecede({F, i, {}}, {B, 0, {}}, mesh),
                  i < warmUp)
            << test.name << " mesh " << mesh.index << " F" << i;
    }
}
