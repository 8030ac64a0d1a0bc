//===- FolderManifestTest.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What is written piece by piece is what the same text would be as a whole.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Files/FolderManifest.h"
#include "meshwright/Files/BooleanText.h"
#include "gtest/gtest.h"

using namespace meshwright;
using llvm::StringRef;

static std::string hashInPieces(StringRef text, size_t size) {
  ContentHash hash;
  for (; !text.empty(); text = text.drop_front(std::min(size, text.size())))
    hash.add(text.take_front(size));
  return hash.finish();
}

TEST(FolderManifestTest, HashDoesNotDependOnPieces) {
  for (size_t length : {size_t(0), size_t(5), ContentHash::kBlock,
                        ContentHash::kBlock + 1, 2 * ContentHash::kBlock}) {
    std::string text(length, 'a');
    std::string whole = hashInPieces(text, length + 1);
    EXPECT_EQ(whole.size(), 16u);
    EXPECT_EQ(whole, hashInPieces(text, (1 << 20) - 1)) << length;
    if (length == 0)
      continue;
    text.back() = 'b';
    EXPECT_NE(whole, hashInPieces(text, length)) << length;
    text.back() = 'a';
    text.front() = 'b';
    EXPECT_NE(whole, hashInPieces(text, length)) << length;
  }
}

TEST(FolderManifestTest, BooleanListsDoNotDependOnPieces) {
  std::string bits(26, 'F');
  std::string line = "%0 = constant dense<\"0x" + bits + "\"> : tensor<104xi1>";
  std::string text = "module {\n" + line + "\n" + line + "\n}\n" + line;
  std::string expected;
  llvm::raw_string_ostream expectedStream(expected);
  printWithBooleanLists(text, expectedStream);
  ASSERT_FALSE(StringRef(expected).contains("0x"));
  for (size_t size : {size_t(1), size_t(7), size_t(60), text.size()}) {
    std::string printed;
    llvm::raw_string_ostream os(printed);
    {
      BooleanListStream lists(os);
      for (StringRef rest = text; !rest.empty();
           rest = rest.drop_front(std::min(size, rest.size()))) {
        lists << rest.take_front(size);
        lists.flush();
      }
      EXPECT_EQ(lists.tell(), text.size());
    }
    EXPECT_EQ(printed, expected) << size;
  }
}
