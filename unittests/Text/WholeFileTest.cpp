//===- WholeFileTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The law of a file: a reader finds the old contents or the new ones,
// whatever becomes of those who write it.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Text/WholeFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshwright;

namespace {
class WholeFileTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("whole-file", folder));
    path = (folder + "/file").str();
    ASSERT_FALSE(llvm::errorToBool(write("old")));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  llvm::Error write(llvm::StringRef text) {
    return writeWholeFile(path, [&](llvm::raw_ostream &os) {
      os << text;
      return llvm::Error::success();
    });
  }

  std::string read() {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "no file";
  }

  unsigned countFiles() {
    std::error_code error;
    unsigned count = 0;
    for (llvm::sys::fs::directory_iterator it(folder, error), end;
         it != end && !error; it.increment(error))
      ++count;
    return count;
  }

  llvm::SmallString<128> folder;
  std::string path;
};
} // namespace

TEST_F(WholeFileTest, KeepsTheOldOneOnAnError) {
  llvm::Error error = writeWholeFile(path, [](llvm::raw_ostream &os) {
    os << "ne";
    os.flush();
    return llvm::createStringError("half way");
  });
  EXPECT_EQ(llvm::toString(std::move(error)),
            path + ": cannot be written: half way");
  EXPECT_EQ(read(), "old");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(WholeFileTest, KeepsTheOldOneIfItsWriterIsKilled) {
  pid_t child = fork();
  if (child == 0) {
    llvm::consumeError(writeWholeFile(path, [](llvm::raw_ostream &os) {
      os << "ne";
      os.flush();
      raise(SIGKILL);
      return llvm::Error::success();
    }));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(read(), "old");
}

TEST_F(WholeFileTest, IsOfOneOfTwoWriters) {
  const std::string texts[] = {std::string(100000, 'a'),
                               std::string(50000, 'b')};
  ASSERT_FALSE(llvm::errorToBool(write(texts[0])));
  for (const std::string &text : texts)
    if (fork() == 0) {
      bool isGood = true;
      for (int round = 0; round < 200; ++round)
        isGood &= !llvm::errorToBool(write(text));
      _exit(isGood ? 0 : 1);
    }
  for (int running = 2; running > 0;) {
    std::string found = read();
    ASSERT_TRUE(found == texts[0] || found == texts[1]) << found.size();
    int status = 0;
    if (waitpid(-1, &status, WNOHANG) > 0) {
      EXPECT_EQ(status, 0);
      --running;
    }
  }
  EXPECT_EQ(countFiles(), 1u);
}
