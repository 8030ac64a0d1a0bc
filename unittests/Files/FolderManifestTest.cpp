//===- FolderManifestTest.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Hashes of written files, and lists of booleans that come piece by piece.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Files/FolderManifest.h"
#include "meshwright/Files/BooleanText.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "gtest/gtest.h"

using namespace meshwright;

/// The hash of a file with this text.
static std::string hashText(llvm::StringRef text) {
  llvm::SmallString<128> path;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("hashed", "txt", path));
  llvm::FileRemover remover(path);
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << text;
  EXPECT_FALSE(code);
  return hashFile(path).value_or("none");
}

TEST(FolderManifestTest, HashSeesEachByte) {
  for (uint64_t length : {uint64_t(0), uint64_t(5), kHashedBlock,
                          kHashedBlock + 1, 2 * kHashedBlock}) {
    std::string text(length, 'a');
    std::string whole = hashText(text);
    EXPECT_EQ(whole.size(), 16u);
    EXPECT_EQ(whole, hashText(text)) << length;
    if (length == 0)
      continue;
    text.back() = 'b';
    EXPECT_NE(whole, hashText(text)) << length;
    text.back() = 'a';
    text.front() = 'b';
    EXPECT_NE(whole, hashText(text)) << length;
  }
}

// Folders that were written before stay readable.
TEST(FolderManifestTest, LongContentsAreHashedByBlocks) {
  std::string block(kHashedBlock, 'a');
  EXPECT_EQ(hashText(block + "b"), hashText(hashText(block) + hashText("b")));
}

TEST(FolderManifestTest, OnlyRegularFilesAreHashed) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("hashed", folder));
  EXPECT_EQ(hashFile(folder), std::nullopt);
  EXPECT_EQ(hashFile((folder + "/missing").str()), std::nullopt);
  EXPECT_FALSE(llvm::sys::fs::remove(folder));
}

TEST(FolderManifestTest, BooleanListsDoNotDependOnPieces) {
  std::string bits(26, 'F');
  std::string line = "%0 = constant dense<\"0x" + bits + "\"> : tensor<104xi1>";
  std::string text = "module {\n" + line + "\n" + line + "\n}\n" + line;
  std::string expected;
  llvm::raw_string_ostream expectedStream(expected);
  printWithBooleanLists(text, expectedStream);
  ASSERT_FALSE(llvm::StringRef(expected).contains("0x"));
  for (size_t size : {size_t(1), size_t(7), size_t(60), text.size()}) {
    std::string printed;
    llvm::raw_string_ostream os(printed);
    {
      BooleanListStream lists(os);
      for (llvm::StringRef rest = text; !rest.empty();
           rest = rest.drop_front(std::min(size, rest.size()))) {
        lists << rest.take_front(size);
        lists.flush();
      }
      EXPECT_EQ(lists.tell(), text.size());
    }
    EXPECT_EQ(printed, expected) << size;
  }
}
