//===- RepeatOrderTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Repeat/RepeatOrder.h"
#include "meshwright/Schedule/Schedule.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <map>

using namespace meshwright;

/// `F0 B0 !` is forward and backward work of microbatch 0, and what is there once.
static std::vector<RepeatedEntry> parse(llvm::StringRef text) {
  std::vector<RepeatedEntry> list;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    unsigned kind = llvm::StringRef("FB!?").find(word.front());
    int64_t microbatch = RepeatedEntry::kOnce;
    word.drop_front().getAsInteger(10, microbatch);
    list.push_back({kind, microbatch});
  }
  return list;
}

static std::string repeat(llvm::StringRef text, RepeatCounts counts) {
  auto repeated = repeatOrder(parse(text), /*numKinds=*/4, counts);
  if (!repeated)
    return "none";
  std::string result;
  for (RepeatedEntry entry : *repeated) {
    result += (result.empty() ? "" : " ") + std::string(1, "FB!?"[entry.kind]);
    if (entry.microbatch != RepeatedEntry::kOnce)
      result += std::to_string(entry.microbatch);
  }
  return result;
}

TEST(RepeatOrderTest, ContinuesTheSteadyState) {
  EXPECT_EQ(repeat("! F0 F1 B0 F2 B1 F3 B2 F4 B3 B4 ?", {5, 8, 1}),
            "! F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7 ?");
}

TEST(RepeatOrderTest, ContinuesEachOfSeveralParts) {
  EXPECT_EQ(repeat("F0 F1 F2 ! B0 B1 B2", {3, 5, 1}),
            "F0 F1 F2 F3 F4 ! B0 B1 B2 B3 B4");
}

TEST(RepeatOrderTest, MicrobatchesMayFall) {
  EXPECT_EQ(repeat("F0 F1 F2 B2 B1 B0", {3, 5, 1}),
            "F0 F1 F2 F3 F4 B4 B3 B2 B1 B0");
}

TEST(RepeatOrderTest, APeriodMayHaveSeveralMicrobatches) {
  EXPECT_EQ(repeat("F0 F1 B1 B0 F2 F3 B3 B2 F4 F5 B5 B4", {6, 8, 2}),
            "F0 F1 B1 B0 F2 F3 B3 B2 F4 F5 B5 B4 F6 F7 B7 B6");
}

TEST(RepeatOrderTest, RefusesWhatDoesNotRepeat) {
  // Each time at another place.
  EXPECT_EQ(repeat("F0 B0 F1 F2 B1 B2 F3 B3 F4 B4", {5, 9, 1}), "none");
  // Something that is there once is between them.
  EXPECT_EQ(repeat("F0 B0 F1 B1 ! F2 B2 F3 B3", {4, 9, 1}), "none");
  // A microbatch is there twice, or beyond the last.
  EXPECT_EQ(repeat("F0 F1 F1 F2 F3", {4, 9, 1}), "none");
  EXPECT_EQ(repeat("F0 F1 F2 F3 F4", {4, 9, 1}), "none");
}

/// The lists of a plan, with numbers for kinds.
static std::vector<std::vector<RepeatedEntry>>
list(const Plan &plan,
     std::map<std::pair<int64_t, ActionKind>, unsigned> &kinds) {
  std::vector<std::vector<RepeatedEntry>> lists;
  for (const ActionList &actions : plan.meshes) {
    lists.emplace_back();
    for (const Action &action : actions)
      lists.back().push_back(
          {kinds.try_emplace({action.stage, action.kind}, kinds.size())
               .first->second,
           action.microbatch});
  }
  return lists;
}

TEST(RepeatOrderTest, ContinuesPlansOfSchedules) {
  for (llvm::StringRef name : {"1F1B", "GPipe", "ZeroBubbleH1", "LoopedBFS",
                               "Interleaved1F1B", "Eager1F1B"}) {
    SCOPED_TRACE(name.str());
    const Schedule *schedule = findSchedule(name);
    ASSERT_TRUE(schedule);
    int64_t chunks = schedule->usualChunks, meshes = 4;
    for (int64_t period : {int64_t(1), meshes}) {
      RepeatCounts counts{meshes * (chunks + 6), meshes * 20, period};
      llvm::Expected<Plan> few =
                               schedule->makePlan({meshes, counts.few, chunks}),
                           many = schedule->makePlan(
                               {meshes, counts.many, chunks});
      ASSERT_TRUE(few && many);
      std::map<std::pair<int64_t, ActionKind>, unsigned> kinds;
      auto fewLists = list(*few, kinds), manyLists = list(*many, kinds);
      bool isRight = true;
      for (auto [fewList, manyList] : llvm::zip_equal(fewLists, manyLists))
        isRight &= repeatOrder(fewList, kinds.size(), counts) == manyList;
      // Chunks take turns after as many microbatches as there are meshes.
      EXPECT_EQ(isRight,
                chunks == 1 || name == "LoopedBFS" || period == meshes);
    }
  }
}

// In each of 40 levels two entries read both of the level below: 2^40 ways lead from the
// top to the bottom.
TEST(RepeatOrderTest, ReadsThroughDiamondsAreVisitedOnce) {
  constexpr unsigned kTop = 81;
  unsigned numVisits = 0, numFound = 0;
  auto forEachRead = [&](RepeatedEntry entry, EntryVisitor visit) {
    ++numVisits;
    if (numVisits > kTop + 1) // A failure should not take forever.
      return false;
    unsigned level = (entry.kind + 1) / 2;
    if (level == 1)
      return visit({0, 3});
    return visit({2 * level - 3, RepeatedEntry::kOnce}) &&
           visit({2 * level - 2, RepeatedEntry::kOnce});
  };
  auto isPassed = [](RepeatedEntry entry) { return entry.kind > 0; };
  auto visit = [&](RepeatedEntry entry) {
    EXPECT_EQ(entry.microbatch, 3);
    ++numFound;
    return true;
  };
  EXPECT_TRUE(visitReadsThrough({kTop, RepeatedEntry::kOnce}, forEachRead,
                                isPassed, visit));
  EXPECT_EQ(numVisits, kTop);
  EXPECT_EQ(numFound, 2u);
}
