//===- QuotedTextTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/QuotedText.h"
#include "gtest/gtest.h"
#include <random>

using namespace meshwright;

namespace {
std::string quote(llvm::StringRef text) {
  std::string quoted;
  llvm::raw_string_ostream os(quoted);
  printQuoted(text, os);
  return quoted;
}

/// Texts of everything that means something to a pipeline or to an option.
std::string makeText(std::mt19937 &random) {
  static const llvm::StringLiteral kSigns =
      "@/,:=#{}()[]\"'\\ \t\n09aF\xC3\xA9";
  std::string text;
  for (unsigned count = random() % 8; count > 0; --count)
    text += kSigns[random() % kSigns.size()];
  return text;
}
} // namespace

TEST(QuotedTextTest, WhatIsPrintedIsReadBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text = makeText(random), taken;
    std::string printed = quote(text) + "@rest";
    llvm::StringRef rest = printed;
    ASSERT_TRUE(takeText(rest, "@", taken)) << printed;
    EXPECT_EQ(taken, text);
    EXPECT_EQ(rest, "@rest");
  }
}

TEST(QuotedTextTest, NothingInQuotesEndsThemOrAnOption) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::string printed = quote(makeText(random));
    llvm::StringRef inside = llvm::StringRef(printed).drop_front().drop_back();
    EXPECT_EQ(inside.find_first_of("\"'{}\n"), llvm::StringRef::npos)
        << printed;
  }
}

TEST(QuotedTextTest, PlainTextsNeedNoQuotes) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text = makeText(random), taken;
    if (!isPlainText(text, "@/"))
      continue;
    std::string printed = text + "@rest";
    llvm::StringRef rest = printed;
    ASSERT_TRUE(takeText(rest, "@/", taken)) << printed;
    EXPECT_EQ(taken, text);
    EXPECT_EQ(rest, "@rest");
  }
  EXPECT_TRUE(isPlainText("layer_1.w", "@"));
  for (const char *text :
       {"a@b", "say \"hi\"", "it's", "{x", "x}", " x", "x y"})
    EXPECT_FALSE(isPlainText(text, "@")) << text;
}

TEST(QuotedTextTest, QuotesMustEnd) {
  std::string taken;
  for (const char *text : {"\"", "\"abc", "\"abc@x"}) {
    llvm::StringRef rest = text;
    EXPECT_FALSE(takeText(rest, "@", taken)) << text;
  }
}
