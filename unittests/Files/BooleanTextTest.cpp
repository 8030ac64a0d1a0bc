//===- BooleanTextTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/BooleanText.h"
#include "gtest/gtest.h"

using namespace meshwright;

static std::string pack(std::string text, llvm::StringRef quote = "\"") {
  packByteBooleans(llvm::MutableArrayRef(text.data(), text.size()), quote);
  return text;
}

/// What follows `before`, after which a constant of a byte comes.
static std::string packOne(const std::string &before) {
  return pack(before + R"(dense<"0x05"> : !b)").substr(before.size());
}

TEST(BooleanTextTest, AnAliasIsWhatItsDefinitionSays) {
  std::string asBits = R"(dense<"0x05"> : !b)";
  std::string asOne = R"(dense<true  > : !b)";
  EXPECT_EQ(packOne("!b = tensor<4xi1>\n"), asBits);
  EXPECT_EQ(packOne("!b = tensor<16xi1>\n"), asOne);
  EXPECT_EQ(packOne("!c = tensor<16xi1> !b = !c\n"), asOne);
  EXPECT_EQ(packOne("!a = !b\n"), asBits);
}

TEST(BooleanTextTest, CommentsAndStringsDefineNothing) {
  std::string asBits = R"(dense<"0x05"> : !b)";
  for (std::string other :
       {"// !b = tensor<16xi1>\n", "x = \"!b = tensor<16xi1>\"\n",
        "x = \"a\\\"!b = tensor<16xi1>\"\n"}) {
    EXPECT_EQ(packOne(other + "!b = tensor<4xi1>\n"), asBits) << other;
    EXPECT_EQ(packOne("!b = tensor<4xi1>\n" + other), asBits) << other;
  }
  // Nor do they hide one.
  EXPECT_NE(packOne("x = \"//\" !b = tensor<16xi1>\n"), asBits);
}

TEST(BooleanTextTest, PartsOfATextHaveAliasesOfTheirOwn) {
  EXPECT_EQ(packOne("!b = tensor<16xi1>\n// -----\n!b = tensor<4xi1>\n"),
            R"(dense<"0x05"> : !b)");
  std::string text = "!b = tensor<4xi1>\ndense<\"0x05\"> : !b\n// -----\n"
                     "!b = tensor<16xi1>\n";
  EXPECT_EQ(pack(text), text);
}

TEST(BooleanTextTest, FindsAliasesInTextsOfJson) {
  constexpr llvm::StringLiteral kQuote = "\\\"";
  auto packText = [&](const std::string &text) {
    return pack(R"({"uri": "file:///a", "text": ")" + text +
                    R"(dense<\"0x05\"> : !b"})",
                kQuote);
  };
  EXPECT_NE(packText(R"(!b = tensor<16xi1>\n)").find("dense<true    >"),
            std::string::npos);
  EXPECT_NE(
      packText(R"(!b = tensor<4xi1>\n// !b = tensor<16xi1>\n)").find("0x05"),
      std::string::npos);
}
