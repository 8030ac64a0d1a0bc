//===- FragmentRulesTest.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Rules/FragmentRules.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::mpmd;

template <typename T> static std::string print(const T &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// The canonical form of `text`, or "error: …".
template <typename ParseT>
static std::string reprint(ParseT parse, StringRef text) {
  auto rule = parse(text);
  if (!rule)
    return "error: " + llvm::toString(rule.takeError());
  // What is printed is the same rule.
  auto again = parse(print(*rule));
  EXPECT_TRUE(bool(again));
  if (!again)
    return "error: " + llvm::toString(again.takeError());
  EXPECT_TRUE(*again == *rule);
  return print(*rule);
}

static std::string merge(StringRef text) {
  return reprint(parseFragmentMergeRule, text);
}
static std::string schedule(StringRef text) {
  return reprint(parseFragmentScheduleRule, text);
}

/// `text` up to `position`, where an error is expected.
static std::string errorAt(StringRef text, size_t position,
                           StringRef expectedAndFound) {
  return ("error: in rule '" + text + "' at character " + Twine(position) +
          ": expected " + expectedAndFound)
      .str();
}

TEST(FragmentRulesTest, PrintsFieldsInOneOrder) {
  EXPECT_EQ(merge("FragmentMergeRule(sources=[FragmentInfo(origins=[\"f\"(0)],"
                  "mesh_name=\"m\",split_type=kKeepTransferred,call_counter=0,"
                  "stage=-2)],target=FragmentInfo(origins=[\"f\",\"f\"(1)]))"),
            "FragmentMergeRule(sources=[FragmentInfo(origins=[\"f\"],stage=-2,"
            "call_counter=0,split_type=kKeepTransferred,mesh_name=\"m\")],"
            "target=FragmentInfo(origins=[\"f\",\"f\"(1)],mesh_name=\"\"))");
  EXPECT_EQ(
      schedule("FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["
               "\"a b\"],split_type=kDropTransferred)->FragmentInfo(origins=[]"
               ",mesh_name=\"m\")])"),
      "FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=[\"a b\"],"
      "split_type=kDropTransferred,mesh_name=\"\")->FragmentInfo(origins=[],"
      "mesh_name=\"m\")])");
}

TEST(FragmentRulesTest, AcceptsEmptyListsAndOneSeparatorAtTheEnd) {
  StringRef empty = "FragmentMergeRule(sources=[],target=FragmentInfo(origins="
                    "[],mesh_name=\"\"))";
  EXPECT_EQ(merge(empty), empty);
  EXPECT_EQ(merge((empty + "anything").str()), empty);
  EXPECT_EQ(schedule("FragmentScheduleRule(ordered_fragments=[])"),
            "FragmentScheduleRule(ordered_fragments=[])");
  EXPECT_EQ(schedule("FragmentScheduleRule(ordered_fragments=[FragmentInfo("
                     "origins=[\"f\",])->])"),
            "FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["
            "\"f\"],mesh_name=\"\")])");
  EXPECT_EQ(merge("FragmentMergeRule(sources=[FragmentInfo(origins=[]),],"
                  "target=FragmentInfo(origins=[]))"),
            "FragmentMergeRule(sources=[FragmentInfo(origins=[],mesh_name=\"\")"
            "],target=FragmentInfo(origins=[],mesh_name=\"\"))");
}

TEST(FragmentRulesTest, ErrorsPointAtTheFirstWrongCharacter) {
  struct {
    StringRef text;
    size_t position;
    StringRef message;
  } cases[] = {
      {"", 1, "'FragmentMergeRule(sources=[', found the end"},
      {"sources=[]", 1, "'FragmentMergeRule(sources=[', found 'sources=[]'"},
      {"FragmentMergeRule([],target=FragmentInfo(origins=[]))", 19,
       "'sources=[', found '[],target=Fragme…'"},
      {"FragmentMergeRule(sources=[])", 29, "',target=', found ')'"},
      {"FragmentMergeRule(sources=[],target=FragmentInfo(origins=[])", 61,
       "')', found the end"},
      {"FragmentMergeRule(sources=[FragmentInfo(origins=[f])", 50,
       "'\"', found 'f])'"},
      {"FragmentMergeRule(sources=[FragmentInfo(origins=[\"f])", 54,
       "'\"' after the name, found the end"},
      {"FragmentMergeRule(sources=[FragmentInfo(origins=[\"f\"(x)])", 54,
       "a decimal number from 0 to 9223372036854775807, found 'x)])'"},
      {"FragmentMergeRule(sources=[FragmentInfo(origins=[\"f\"\"g\"])", 53,
       "',' or ']', found '\"g\"])'"},
      {"FragmentMergeRule(sources=[FragmentInfo(origins=[],stages=1)", 52,
       "stage=, call_counter=, split_type= or mesh_name=, found 'stages=1)'"},
      {"FragmentMergeRule(sources=[FragmentInfo(origins=[], stage=1)", 52,
       "stage=, call_counter=, split_type= or mesh_name=, found ' stage=1)'"},
      {"FragmentMergeRule(sources=[FragmentInfo(origins=[],split_type=kBoth)",
       63, "kKeepTransferred or kDropTransferred, found 'kBoth)'"},
      {"FragmentMergeRule(sources=[FragmentInfo(origins=[],call_counter=-1)",
       65, "a decimal number from 0 to 4294967295, found '-1)'"},
      {"FragmentMergeRule(sources=[FragmentInfo(origins=[],stage=0x1)", 59,
       "',' or ')', found 'x1)'"},
      {"FragmentMergeRule(sources=[FragmentInfo(origins=[],stage=1,stage=1)",
       60,
       "a field other than stage, which the fragment already has, found "
       "'stage=1)'"},
  };
  for (const auto &[text, position, message] : cases)
    EXPECT_EQ(merge(text), errorAt(text, position, message));
}

TEST(FragmentRulesTest, RejectsMalformedScheduleRules) {
  StringRef info = "FragmentInfo(origins=[\"f\"])";
  std::string prefix = "FragmentScheduleRule(ordered_fragments=[";
  std::string space = prefix + info.str() + " " + info.str() + "])";
  EXPECT_EQ(schedule(space), errorAt(space, prefix.size() + info.size() + 1,
                                     "'->' or ']', found ' FragmentInfo(or…'"));
  std::string open = prefix + info.str();
  EXPECT_EQ(schedule(open),
            errorAt(open, open.size() + 1, "'->' or ']', found the end"));
  std::string unclosed = prefix + info.str() + "]";
  EXPECT_EQ(schedule(unclosed),
            errorAt(unclosed, unclosed.size() + 1, "')', found the end"));
  EXPECT_EQ(schedule("[]"),
            errorAt("[]", 1,
                    "'FragmentScheduleRule(ordered_fragments=[', found '[]'"));
}
