//===- CrashGuardTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The law of the guard: whatever ends its body, the process goes on, and can
// run the next body.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Files/CrashGuard.h"
#include "llvm/Support/ErrorHandling.h"
#include "gtest/gtest.h"
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

using namespace meshwright;

TEST(CrashGuardTest, SaysNothingOfABodyThatEnds) {
  bool hasRun = false;
  EXPECT_EQ(runGuarded([&] { hasRun = true; }), std::nullopt);
  EXPECT_TRUE(hasRun);
}

TEST(CrashGuardTest, SurvivesAFailedCheck) {
  for (int i = 0; i < 3; ++i) {
    bool isBehind = false;
    std::optional<std::string> crash = runGuarded([&] {
      std::abort();
      isBehind = true;
    });
    ASSERT_TRUE(crash);
    EXPECT_NE(crash->find("failed a check of its own"), std::string::npos);
    EXPECT_FALSE(isBehind);
  }
  EXPECT_EQ(runGuarded([] {}), std::nullopt);
}

TEST(CrashGuardTest, NamesOtherSignals) {
  std::optional<std::string> crash = runGuarded([] { raise(SIGSEGV); });
  ASSERT_TRUE(crash);
  EXPECT_NE(crash->find("Segmentation fault"), std::string::npos);
}

TEST(CrashGuardTest, QuotesFatalErrors) {
  std::optional<std::string> crash =
      runGuarded([] { llvm::report_fatal_error("out of unicorns"); });
  ASSERT_TRUE(crash);
  EXPECT_NE(crash->find("\"out of unicorns\""), std::string::npos);
}

TEST(CrashGuardTest, GivesHandlersBack) {
  auto *before = signal(SIGABRT, SIG_IGN);
  EXPECT_EQ(runGuarded([] {}), std::nullopt);
  EXPECT_EQ(signal(SIGABRT, before), SIG_IGN);
}

TEST(CrashGuardTest, KeepsThreadsApart) {
  std::atomic<unsigned> numCrashes = 0, numEnds = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        auto crash = runGuarded([&] {
          if (i % 2)
            std::abort();
        });
        ++(crash ? numCrashes : numEnds);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numCrashes, 80u);
  EXPECT_EQ(numEnds, 80u);
}

TEST(CrashGuardTest, HasADeepStack) {
  // Each level takes more than 64 kB; the usual stack ends at 128 of them.
  struct Recursion {
    static int descend(volatile char *above, int depth) {
      volatile char room[1 << 16];
      room[0] = above[0] + 1;
      return depth ? descend(room, depth - 1) + room[0] : 0;
    }
  };
  volatile char first[1] = {0};
  EXPECT_EQ(runGuarded([&] { Recursion::descend(first, 2000); }), std::nullopt);
}

//===----------------------------------------------------------------------===//
// Thread pool
//===----------------------------------------------------------------------===//

TEST(GuardedThreadPoolTest, RunsAllTasksOfNestedGroups) {
  std::unique_ptr<llvm::ThreadPoolInterface> pool = makeGuardedThreadPool();
  std::atomic<unsigned> numTasks = 0;
  llvm::ThreadPoolTaskGroup outer(*pool);
  for (int i = 0; i < 100; ++i)
    outer.async([&] {
      llvm::ThreadPoolTaskGroup inner(*pool);
      for (int j = 0; j < 100; ++j)
        inner.async([&] { ++numTasks; });
      inner.wait();
      ++numTasks;
    });
  outer.wait();
  EXPECT_EQ(numTasks, 100u * 101u);
}

TEST(GuardedThreadPoolTest, PassesCrashesOnToWhoWaits) {
  // Neither may be destroyed after a crash.
  static std::unique_ptr<llvm::ThreadPoolInterface> pool =
      makeGuardedThreadPool();
  bool isBehind = false;
  std::optional<std::string> crash = runGuarded([&] {
    auto *group = new llvm::ThreadPoolTaskGroup(*pool);
    for (int i = 0; i < 10; ++i)
      group->async([i] {
        if (i == 5)
          std::abort();
      });
    group->wait();
    isBehind = true;
  });
  (void)pool.release();
  ASSERT_TRUE(crash);
  EXPECT_NE(crash->find("failed a check of its own"), std::string::npos);
  EXPECT_FALSE(isBehind);
}
