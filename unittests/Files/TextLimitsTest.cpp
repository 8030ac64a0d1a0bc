//===- TextLimitsTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/TextLimits.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

namespace {
class TextLimitsTest : public ::testing::Test {
protected:
  /// Where the error is, or an empty text.
  std::string findError(const std::string &text) {
    std::string place;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      auto loc = cast<FileLineColLoc>(diagnostic.getLocation());
      place =
          std::to_string(loc.getLine()) + ":" + std::to_string(loc.getColumn());
    });
    LogicalResult result = verifyTextLimits(text, "file", &context);
    EXPECT_EQ(succeeded(result), place.empty());
    return place;
  }

  static std::string repeat(int count, const std::string &text) {
    std::string result;
    for (int i = 0; i < count; ++i)
      result += text;
    return result;
  }

  MLIRContext context;
};
} // namespace

TEST_F(TextLimitsTest, CountsWhatIsOpen) {
  EXPECT_EQ(findError(repeat(10000, "{") + repeat(10000, "}")), "");
  EXPECT_EQ(findError("\n\n" + repeat(10001, "(")), "3:10001");
  EXPECT_EQ(findError(repeat(20000, "[]")), "");
  EXPECT_EQ(findError(repeat(3334, "({[")), "1:10001");
}

TEST_F(TextLimitsTest, TypesAreLessDeep) {
  EXPECT_EQ(findError(repeat(500, "tuple<") + repeat(500, ">")), "");
  EXPECT_EQ(findError("\n" + repeat(501, "#a.b<")), "2:2505");
  EXPECT_EQ(findError(repeat(20000, "<>") + repeat(20000, ">")), "");
}

TEST_F(TextLimitsTest, SkipsWhatIsNoBracket) {
  EXPECT_EQ(findError("\"" + repeat(20000, "{\\\"") + "\""), "");
  EXPECT_EQ(findError("// " + repeat(20000, "{")), "");
  EXPECT_EQ(findError("// {\n" + repeat(20000, "<=")), "");
  EXPECT_EQ(findError("// {\r" + repeat(10001, "(")), "1:10006");
  EXPECT_EQ(findError("\"never closed" + repeat(20000, "{")), "");
  EXPECT_EQ(findError("\"never closed\n" + repeat(10001, "{")), "2:10001");
  EXPECT_EQ(findError("\"never closed\\\n" + repeat(10001, "{")), "2:10001");
  EXPECT_EQ(findError("\"\\\\\"" + repeat(10001, "{")), "1:10005");
}

TEST_F(TextLimitsTest, ArrowsCloseNothing) {
  EXPECT_EQ(findError(repeat(501, "<->")), "1:1501");
}

TEST_F(TextLimitsTest, ResultsAreNoMoreThanCharacters) {
  EXPECT_EQ(findError("\n  %0#2147483647"), "2:3");
  EXPECT_EQ(findError("%a_$.-1#99999999999999999999"), "1:1");
  EXPECT_EQ(findError("%0#5, %x#2"), "");
  EXPECT_EQ(findError("\"%0#2147483647\" // %0#2147483647"), "");
  EXPECT_EQ(findError("%0:2147483647 = #7 %"), "");
}

TEST_F(TextLimitsTest, ResultsMayStandApartFromTheirNumbers) {
  EXPECT_EQ(findError("%0 #2147483647"), "1:1");
  EXPECT_EQ(findError("x %0 // of many\r\n\t#2147483647"), "1:3");
  EXPECT_EQ(findError(std::string("%0\0#2147483647", 14)), "1:1");
  EXPECT_EQ(findError("%0 // #2147483647"), "");
}

TEST_F(TextLimitsTest, ResultsOfAllNamesAreNoMoreThanCharacters) {
  EXPECT_EQ(findError("%0#9\n%1#9\n%2#9"), "2:1");
  EXPECT_EQ(findError("%0#9\n%0#9\n%0#9"), "");
}

TEST_F(TextLimitsTest, ResultsAreCountedAgainWhereTheyAreNested) {
  std::string types = repeat(20000, "i1,");
  EXPECT_EQ(findError(types + repeat(500, "{") + "%0#60000"), "");
  EXPECT_EQ(findError(types + repeat(600, "{") + "%0#60000"), "1:60601");
}

TEST_F(TextLimitsTest, NoArrayIsOfIndices) {
  EXPECT_EQ(findError("{a = array<index: 1>}"), "1:12");
  EXPECT_EQ(findError("array // of\n < index->"), "2:4");
  EXPECT_EQ(findError("array<i64: 1>, array<indexed>, dense<index>"), "");
  EXPECT_EQ(findError("\"array<index>\" // array<index>"), "");
  EXPECT_EQ(findError("#a.array<index>, #array<index>, subarray<index>"), "");
}

TEST_F(TextLimitsTest, NorOfAliasesOfIndices) {
  EXPECT_EQ(findError("!a = index\n!b = !a\narray<!b>"), "3:7");
  EXPECT_EQ(findError("!a = i64\n!b = !c.index\narray<!a>, array<!b>"), "");
}
