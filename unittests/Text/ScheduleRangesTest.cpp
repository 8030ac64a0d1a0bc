//===- ScheduleRangesTest.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/ScheduleRanges.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <random>

using namespace meshwright;
namespace json = llvm::json;

using Numbers = std::vector<unsigned>;

/// Ranges as `firstxlengthxcount`.
static std::string print(llvm::ArrayRef<Range> ranges) {
  std::string text;
  for (const Range &range : ranges)
    text += (text.empty() ? "" : " ") + std::to_string(range.first) + "x" +
            std::to_string(range.length) + "x" + std::to_string(range.count);
  return text;
}

/// What a list of numbers with ranges says, by what is written of the first times.
static Numbers writeOut(llvm::ArrayRef<unsigned> numbers,
                        llvm::ArrayRef<Range> ranges) {
  Numbers result;
  for (const Range &range : ranges)
    for (size_t time = 0; time < range.count; ++time)
      for (size_t i = range.first; i < range.first + range.length; ++i) {
        unsigned step =
            range.count > 1 ? numbers[i + range.length] - numbers[i] : 0;
        result.push_back(numbers[i] + unsigned(time) * step);
      }
  return result;
}

TEST(ScheduleRangesTest, FindsWarmUpSteadyStateAndCoolDown) {
  EXPECT_EQ(print(findRanges(Numbers{})), "");
  EXPECT_EQ(print(findRanges(Numbers{4, 9})), "0x1x1 1x1x1");
  EXPECT_EQ(print(findRanges(Numbers{0, 1, 2, 3, 4, 5, 40})), "0x1x6 6x1x1");
  EXPECT_EQ(print(findRanges(Numbers{90, 7, 8, 10, 11, 13, 14, 16, 17, 1})),
            "0x1x1 1x2x4 9x1x1");
}

TEST(ScheduleRangesTest, StepsAreModuloTheLargestNumber) {
  EXPECT_EQ(print(findRanges(Numbers{5, 3, 1, ~0u, ~2u, ~4u, 1})),
            "0x1x6 6x1x1");
}

TEST(ScheduleRangesTest, NumbersOfAnEntryHaveStepsOfTheirOwn) {
  // The first number of each entry stays, the second grows by five.
  Numbers numbers{3, 10, 3, 15, 3, 20, 3, 25, 3, 30};
  std::vector<RangeEntry> entries;
  for (size_t i = 0; i < numbers.size(); i += 2)
    entries.push_back({0, llvm::ArrayRef(numbers).slice(i, 2)});
  EXPECT_EQ(print(findRanges(entries)), "0x1x5");
  entries[2].kind = 1;
  EXPECT_EQ(print(findRanges(entries)), "0x1x1 1x1x1 2x1x1 3x1x1 4x1x1");
  entries[2].kind = 0;
  numbers[5] = 21;
  EXPECT_EQ(print(findRanges(entries)), "0x1x1 1x1x1 2x1x1 3x1x1 4x1x1");
}

TEST(ScheduleRangesTest, WritesOutWhatWasThere) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Numbers numbers;
    while (numbers.size() < 200) {
      unsigned length = random() % 6 + 1, count = random() % 12;
      Numbers first, step;
      for (unsigned i = 0; i < length; ++i) {
        first.push_back(random() % 50);
        step.push_back(random() % 3);
      }
      for (unsigned time = 0; time < count; ++time)
        for (unsigned i = 0; i < length; ++i)
          numbers.push_back(first[i] + time * step[i]);
    }
    EXPECT_EQ(writeOut(numbers, findRanges(numbers)), numbers);
  }
}

/// The error of a schedule of version 2, or an empty text.
static std::string findError(llvm::StringRef text) {
  json::Value value = llvm::cantFail(json::parse(text));
  llvm::Expected<WrittenSchedule> written = writeOutSchedule(value);
  return written ? "" : llvm::toString(written.takeError());
}

static std::string makeSchedule(llvm::StringRef items,
                                llvm::StringRef order = "[0]") {
  return (R"({"version": 2, "meshes": [{"name": "m", "items": )" + order +
          R"(}],
    "classes": {"items": [{"kind": "call", "results": [0]},
                          {"kind": "transfer", "results": [0]}]},
    "inputs": [{"value": 0, "class": 0}],
    "items": )" +
          items + R"(, "order": )" + order + "}")
      .str();
}

TEST(ScheduleRangesTest, WritesSchedulesOut) {
  // The calls have values 1 and 2 in the file, and the transfers 3 and 4.
  json::Value value = llvm::cantFail(json::parse(makeSchedule(
      R"([[{"repeat": 2, "of": [{"operands": [[0, 3]]}]}],
          [{"repeat": 2, "of": [{"operands": [[1, 1]]}]}]])",
      R"([{"repeat": 2, "of": [0, 1]}])")));
  json::Array &meshes = *value.getAsObject()->getArray("meshes");
  meshes.push_back(json::Object{
      {"items", json::Array{1, json::Object{{"repeat", 2}, {"of", {0}}}, 1}}});
  WrittenSchedule written = llvm::cantFail(writeOutSchedule(value));
  std::string items;
  for (const WrittenSchedule::Item &item : written.items)
    items += llvm::formatv(
        "{0} {1:$[,]} -> {2}x{3}; ",
        *item.common->getAsObject()->getString("kind"),
        llvm::make_range(item.operands.begin(), item.operands.end()),
        item.firstResult, item.numResults);
  EXPECT_EQ(items, "call 0 -> 1x1; transfer 1 -> 2x1; call 2 -> 3x1; "
                   "transfer 3 -> 4x1; ");
  EXPECT_EQ(written.numValues, 5);
  std::vector<std::vector<int64_t>> expected{{0, 1, 2, 3}, {1, 0, 2, 3}};
  EXPECT_EQ(written.ofMeshes, expected);
}

TEST(ScheduleRangesTest, RefusesWhatIsNoRange) {
  EXPECT_EQ(findError(R"({"items": []})"),
            "expected an object at schedule.classes");
  EXPECT_EQ(findError(R"({"classes": {}})"),
            "expected a list at schedule.classes.items");
  EXPECT_EQ(findError(makeSchedule("[[], []]", "[2]")),
            "expected the index of one of \"classes\" at schedule.order");
  EXPECT_EQ(findError(makeSchedule("[[]]", "[]")),
            "expected a list for each of \"classes.items\" at schedule.items");
  EXPECT_EQ(findError(makeSchedule("[[], {}]", "[]")),
            "expected a list at schedule.items[1]");
  std::string entry = R"({"operands": []})";
  EXPECT_EQ(findError(makeSchedule("[[" + entry + "], []]", "[0, 0]")),
            "expected as many items as \"order\" has at schedule.items[0]");
  EXPECT_EQ(findError(makeSchedule("[[" + entry + "], []]", "[]")),
            "expected as many items as \"order\" has at schedule.items[0]");
  EXPECT_EQ(findError(makeSchedule("[[], [" + entry + "]]", "[1]")),
            "expected one operand and one result of a transfer at "
            "schedule.items[1][0]");
  EXPECT_EQ(findError(makeSchedule(R"([[{}], []])")),
            "expected a list at schedule.items[0][0].operands");
  EXPECT_EQ(findError(makeSchedule(R"([[{"operands": [2]}], []])")),
            "expected numbers of values at schedule.items[0][0].operands");
  json::Value other =
      llvm::cantFail(json::parse(makeSchedule("[[" + entry + "], []]")));
  (*other.getAsObject())["meshes"] =
      json::Array{json::Object{{"items", json::Array{0, 0}}}};
  EXPECT_EQ(findError(llvm::formatv("{0}", other).str()),
            "expected each class at most as often as it is in \"order\" at "
            "schedule.meshes[0].items");
  EXPECT_EQ(findError(makeSchedule("[[], []]", R"(["a"])")),
            "expected a number, or [first, step] in a range at "
            "schedule.order[0]");
  EXPECT_EQ(
      findError(makeSchedule("[[], []]", R"([{"repeat": 0, "of": [1]}])")),
      "expected ranges as {\"repeat\": 2, \"of\": [...]} at schedule.order[0]");
  EXPECT_EQ(findError(makeSchedule("[[], []]",
                                   R"([{"repeat": 1000000000, "of": [1]}])")),
            "expected at most 4 million items and 32 million numbers when "
            "ranges are written out at schedule.order");
  EXPECT_EQ(findError(makeSchedule(R"([[
      {"operands": [{"repeat": 40000000, "of": [0]}]}], []])")),
            "expected at most 4 million items and 32 million numbers when "
            "ranges are written out at schedule.items[0][0].operands");
  json::Value many = llvm::cantFail(json::parse(
      makeSchedule("[[], []]", R"([{"repeat": 4000000, "of": [0]}])")));
  json::Object &itsClass = *many.getAsObject()
                                ->getObject("classes")
                                ->getArray("items")
                                ->front()
                                .getAsObject();
  itsClass["results"] = json::Array(std::vector<json::Value>(9, 0));
  EXPECT_EQ(findError(llvm::formatv("{0}", many).str()),
            "expected at most 32 million numbers and values when ranges are "
            "written out at schedule.order");
}
