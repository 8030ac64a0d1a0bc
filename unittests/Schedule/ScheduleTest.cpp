//===- ScheduleTest.cpp - What the schedules require ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The relations are written out here once more, pair by pair, as their tables
// have them, and compared with what the schedules require for all small cases.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Schedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <random>
#include <set>
#include <tuple>
#include <vector>

using namespace meshwright;

namespace {
constexpr WorkKind F = WorkKind::Forward;
constexpr WorkKind B = WorkKind::Backward;
constexpr WorkKind W = WorkKind::Weight;

bool mustPrecede(const Schedule &schedule, const WorkItem &first,
                 const WorkItem &second, const MeshPosition &mesh) {
  return schedule.getConstraints(mesh).mustPrecede(first, second);
}

std::vector<WorkItem> makeItems(int64_t microbatches,
                                std::vector<WorkKind> kinds) {
  std::vector<WorkItem> items;
  for (int64_t i = 0; i < microbatches; ++i)
    for (WorkKind kind : kinds)
      items.push_back({kind, i, std::nullopt});
  return items;
}

/// The order that a relation requires, if it is total; empty if it is not.
std::vector<WorkItem> sortTotally(std::vector<WorkItem> items,
                                  const Schedule &schedule,
                                  const MeshPosition &mesh) {
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t j = i + 1; j < items.size(); ++j)
      if (mustPrecede(schedule, items[i], items[j], mesh) ==
          mustPrecede(schedule, items[j], items[i], mesh))
        return {};
  llvm::sort(items, [&](const WorkItem &a, const WorkItem &b) {
    return mustPrecede(schedule, a, b, mesh);
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

TEST(ScheduleTest, AnUnknownNameListsTheKnownAndTheNearest) {
  std::string text = listSchedules("zerobubble1");
  EXPECT_NE(text.find("known are none, 1F1B, GPipe"), std::string::npos);
  EXPECT_NE(text.find("file:PATH; did you mean ZeroBubbleH1?"),
            std::string::npos);
  EXPECT_EQ(listSchedules("something else").find("did you mean"),
            std::string::npos);
}

TEST(ScheduleTest, NoPairIsOrderedBothWays) {
  for (const Schedule *schedule : getSchedules()) {
    // The warm-up rows of the second family order whole groups; its data flow
    // keeps them apart.
    if (schedule->name.starts_with("ZeroBubbleH2") || schedule->findProblem ||
        !schedule->getConstraints)
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
            EXPECT_FALSE(mustPrecede(*schedule, a, b, mesh) &&
                         mustPrecede(*schedule, b, a, mesh));
      }
  }
}

TEST(ScheduleTest, ThePlanTellsWhetherBackwardWorkRunsLastFirst) {
  for (const Schedule *schedule : getSchedules()) {
    PlanShape shape{2, 4, schedule->usualChunks};
    llvm::Expected<Plan> plan = schedule->makePlan(shape);
    if (!plan) { // Wrap-around has as many microbatches as meshes.
      llvm::consumeError(plan.takeError());
      continue;
    }
    std::vector<int64_t> order;
    for (const ActionList &list : plan->meshes)
      for (const Action &action : list)
        if (action.stage == 0 && (action.kind == ActionKind::Backward ||
                                  action.kind == ActionKind::Input))
          order.push_back(action.microbatch);
    if (schedule->backwardRunsLastFirst)
      std::reverse(order.begin(), order.end());
    EXPECT_TRUE(llvm::is_sorted(order))
        << schedule->name.str()
        << ": its backward work is in the other order than "
           "backwardRunsLastFirst says";
  }
}

TEST(ScheduleTest, RegistryNamesAreTheNamesInCapitals) {
  std::set<std::string> names;
  for (const Schedule *schedule : getSchedules()) {
    std::string plain;
    for (char letter : schedule->registryName)
      if (letter != '_')
        plain += letter;
    if (schedule->name != "1F1B")
      EXPECT_EQ(plain, schedule->name.upper());
    EXPECT_TRUE(names.insert(schedule->registryName.str()).second);
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
          EXPECT_FALSE(mustPrecede(schedule, figure[j], figure[i], mesh))
              << print({figure[j], figure[i]});
      // Neighbours of different kinds are ordered by the relation itself.
      for (size_t i = inFlight; i + 1 < figure.size() - inFlight; ++i)
        if (figure[i].kind != figure[i + 1].kind)
          EXPECT_TRUE(mustPrecede(schedule, figure[i], figure[i + 1], mesh))
              << print({figure[i], figure[i + 1]});
    }
}

TEST(ScheduleTest, LastMeshAlternatesWhereTheOthersRunGPipe) {
  const Schedule &schedule = *findSchedule("GPipeBut1F1BForLastMesh");
  WorkItem forward{F, 1, std::nullopt}, backward{B, 0, std::nullopt};
  EXPECT_TRUE(mustPrecede(schedule, forward, backward, {0, 3, std::nullopt}));
  EXPECT_TRUE(mustPrecede(schedule, backward, forward, {2, 3, std::nullopt}));
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
        EXPECT_EQ(mustPrecede(schedule, {F, i, {}}, {B, 0, {}}, mesh),
                  i < warmUp)
            << test.name << " mesh " << mesh.index << " F" << i;
    }
}

//===----------------------------------------------------------------------===//
// The tables, pair by pair
//===----------------------------------------------------------------------===//

namespace {
using Relation = bool (*)(const WorkItem &f, const WorkItem &g,
                          const MeshPosition &mesh);

bool isForward(const WorkItem &item) { return item.kind == F; }

bool never(const WorkItem &, const WorkItem &, const MeshPosition &) {
  return false;
}

bool gpipe(const WorkItem &f, const WorkItem &g, const MeshPosition &) {
  return std::make_tuple(!isForward(f), f.microbatch) <
         std::make_tuple(!isForward(g), g.microbatch);
}

bool oneForwardOneBackward(const WorkItem &f, const WorkItem &g,
                           const MeshPosition &mesh) {
  if (isForward(f) == isForward(g))
    return f.microbatch < g.microbatch;
  if (isForward(f))
    return f.microbatch == g.microbatch + mesh.count - mesh.index - 1;
  return f.microbatch == g.microbatch - mesh.count + mesh.index;
}

bool mixed(const WorkItem &f, const WorkItem &g, const MeshPosition &mesh) {
  return mesh.index == mesh.count - 1 ? oneForwardOneBackward(f, g, mesh)
                                      : gpipe(f, g, mesh);
}

bool zeroBubbleH1(const WorkItem &f, const WorkItem &g,
                  const MeshPosition &mesh) {
  int64_t c = f.microbatch, d = g.microbatch, N = mesh.count, m = mesh.index;
  if (f.kind == F && g.kind == B)
    return c == d + N - m - 1;
  if (f.kind == B && g.kind == F)
    return c == d - N + m;
  if (f.kind == B && g.kind == W)
    return c == d + m;
  if (f.kind == W && g.kind == F)
    return d == c + N;
  if (f.kind == W && g.kind == B)
    return d == c + m + 1;
  return false;
}

template <int64_t halves>
bool zeroBubbleH2(const WorkItem &f, const WorkItem &g,
                  const MeshPosition &mesh) {
  auto E = [&](int64_t k) {
    int64_t left = mesh.count - k;
    return 2 * left - 1 + halves * (left - 1);
  };
  int64_t c = f.microbatch, d = g.microbatch;
  int64_t e = E(mesh.index), mirrored = E(mesh.count - mesh.index - 1);
  if (f.kind == F && g.kind == B)
    return c < e || (c >= e && c - d == e - 1);
  if (f.kind == F && g.kind == W)
    return c < e;
  if (f.kind == B && g.kind == F)
    return d >= e && d - c == e;
  if (f.kind == B && g.kind == W)
    return c - d == mirrored - 1;
  if (f.kind == W && g.kind == B)
    return d - c == mirrored;
  return false;
}

template <bool isReversed>
bool circular(const WorkItem &f, const WorkItem &g, const MeshPosition &mesh) {
  if (!f.stage || !g.stage)
    return false;
  if (isForward(f) != isForward(g))
    return isForward(f);
  auto key = [&](const WorkItem &item, int64_t sign) {
    return std::make_tuple(item.microbatch / mesh.count, sign * *item.stage,
                           item.microbatch);
  };
  if (isForward(f))
    return key(f, 1) < key(g, 1);
  return isReversed ? key(f, 1) > key(g, 1) : key(f, -1) < key(g, -1);
}

bool wrapAround(const WorkItem &f, const WorkItem &g,
                const MeshPosition &mesh) {
  int64_t c = f.microbatch, d = g.microbatch, k = *mesh.number;
  if (c == k || d == k)
    return c == k;
  return (c < k) == (d < k) ? c > d : c < d;
}

struct NamedRelation {
  const char *name;
  Relation relation;
};
constexpr NamedRelation kRelations[] = {
    {"none", never},
    {"1F1B", oneForwardOneBackward},
    {"GPipe", gpipe},
    {"Circular", circular<false>},
    {"CircularWithReversedBackward", circular<true>},
    {"GPipeBut1F1BForLastMesh", mixed},
    {"ZeroBubbleH1", zeroBubbleH1},
    {"ZeroBubbleH2ZeroTxLatency", zeroBubbleH2<0>},
    {"ZeroBubbleH2HalfTxLatency", zeroBubbleH2<1>},
    {"ZeroBubbleH2FullTxLatency", zeroBubbleH2<2>},
    {"ParallelPipelinesWithWrapAround", wrapAround},
};

/// Work with gaps, with repetitions, and some of it without a stage.
std::vector<WorkItem> makeRandomItems(const Schedule &schedule,
                                      std::mt19937 &random) {
  std::vector<WorkItem> items;
  for (unsigned i = 0, e = random() % 14; i < e; ++i) {
    WorkKind kind =
        schedule.findProblem ? F : std::array{F, B, W}[random() % 3];
    std::optional<int64_t> stage;
    if (random() % 4 != 0)
      stage = random() % 3;
    int64_t microbatch = random() % 9;
    if (schedule.findProblem && llvm::any_of(items, [&](const WorkItem &item) {
          return item.microbatch == microbatch;
        }))
      continue;
    items.push_back({kind, microbatch, stage});
  }
  return items;
}

using Matrix = std::vector<std::vector<bool>>;

Matrix closeTransitively(Matrix matrix) {
  size_t size = matrix.size();
  for (size_t k = 0; k < size; ++k)
    for (size_t i = 0; i < size; ++i)
      for (size_t j = 0; j < size; ++j)
        if (matrix[i][k] && matrix[k][j])
          matrix[i][j] = true;
  return matrix;
}
} // namespace

TEST(ScheduleTest, DemandsAreTheTables) {
  std::mt19937 random(1);
  for (const NamedRelation &test : kRelations) {
    const Schedule &schedule = *findSchedule(test.name);
    for (int64_t count : {1, 2, 3, 5})
      for (const MeshPosition &mesh : makeMeshes(count))
        for (unsigned trial = 0; trial < 40; ++trial) {
          auto items = makeRandomItems(schedule, random);
          SCOPED_TRACE(llvm::formatv("{0} mesh {1} of {2}: {3}", test.name,
                                     mesh.index, count, print(items))
                           .str());
          for (const WorkItem &f : items)
            for (const WorkItem &g : items)
              if (&f != &g)
                EXPECT_EQ(mustPrecede(schedule, f, g, mesh),
                          test.relation(f, g, mesh))
                    << print({f, g});
        }
  }
}

TEST(ScheduleTest, EveryRelationHasATable) {
  for (const Schedule *schedule : getSchedules())
    if (schedule->getConstraints)
      EXPECT_TRUE(llvm::any_of(kRelations, [&](const NamedRelation &test) {
        return schedule->name == test.name;
      })) << schedule->name.str();
}

// The groups are fewer than the pairs, and imply the same.
TEST(ScheduleTest, GroupsImplyTheTables) {
  std::mt19937 random(2);
  for (const NamedRelation &test : kRelations) {
    const Schedule &schedule = *findSchedule(test.name);
    for (int64_t count : {1, 2, 3, 5})
      for (const MeshPosition &mesh : makeMeshes(count))
        for (unsigned trial = 0; trial < 40; ++trial) {
          auto items = makeRandomItems(schedule, random);
          size_t size = items.size();
          Matrix pairs(size, std::vector<bool>(size)), groups = pairs;
          for (size_t i = 0; i < size; ++i)
            for (size_t j = 0; j < size; ++j)
              pairs[i][j] = i != j && test.relation(items[i], items[j], mesh);
          schedule.getConstraints(mesh).forEachGroup(
              items, [&](llvm::ArrayRef<unsigned> before,
                         llvm::ArrayRef<unsigned> after) {
                for (unsigned i : before)
                  for (unsigned j : after) {
                    EXPECT_NE(i, j);
                    groups[i][j] = true;
                  }
              });
          EXPECT_EQ(closeTransitively(groups), closeTransitively(pairs))
              << test.name << " mesh " << mesh.index << " of " << count << ": "
              << print(items);
        }
  }
}

// A plan completes the relation of its schedule: it has all that is required.
TEST(ScheduleTest, PlansKeepWhatTheirRelationsDemand) {
  for (const Schedule *schedule : getSchedules()) {
    if (!schedule->getConstraints)
      continue;
    for (int64_t count : {1, 2, 3, 4, 6})
      for (int64_t microbatches : {1, 2, 4, 8, 13}) {
        PlanShape shape{count, microbatches, schedule->usualChunks};
        if (schedule->findProblem)
          shape.microbatches = count;
        Plan plan = llvm::cantFail(schedule->makePlan(shape));
        for (const MeshPosition &mesh : makeMeshes(count)) {
          std::vector<WorkItem> items;
          for (const Action &action : plan.meshes[mesh.index])
            items.push_back({action.kind == ActionKind::Forward  ? F
                             : action.kind == ActionKind::Weight ? W
                                                                 : B,
                             action.microbatch, action.stage});
          for (size_t i = 0; i < items.size(); ++i)
            for (size_t j = 0; j < i; ++j)
              EXPECT_FALSE(mustPrecede(*schedule, items[i], items[j], mesh))
                  << schedule->name.str() << " mesh " << mesh.index << " of "
                  << count << ": " << print({items[i], items[j]});
        }
      }
  }
}
