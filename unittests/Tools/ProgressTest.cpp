//===- ProgressTest.cpp - Progress is drawn and taken back ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Support/Progress.h"
#include "gtest/gtest.h"

using namespace meshwright;

namespace {
/// Lets another thread wait for what is written.
class Screen : public llvm::raw_ostream {
public:
  explicit Screen(bool isTerminal)
      : raw_ostream(/*unbuffered=*/true), isTerminal(isTerminal) {}
  bool is_displayed() const override { return isTerminal; }

  void waitFor(llvm::StringRef shown) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return text.find(shown) != std::string::npos; });
  }

  std::string text;

private:
  void write_impl(const char *pointer, size_t size) override {
    std::lock_guard<std::mutex> lock(mutex);
    text.append(pointer, size);
    changed.notify_all();
  }
  uint64_t current_pos() const override { return text.size(); }

  bool isTerminal;
  std::mutex mutex;
  std::condition_variable changed;
};
} // namespace

TEST(ProgressTest, SaysWhatOneWaitsForAndTakesItBack) {
  Screen screen(/*isTerminal=*/true);
  {
    Progress progress("reading a.mlir", screen, std::chrono::milliseconds(0));
    screen.waitFor("\rreading a.mlir ... ");
  }
  EXPECT_TRUE(llvm::StringRef(screen.text).ends_with("\r\x1b[K"));
}

TEST(ProgressTest, IsSilentInPipesAndForWhatIsQuick) {
  Screen pipe(/*isTerminal=*/false), terminal(/*isTerminal=*/true);
  {
    Progress progress("reading", pipe, std::chrono::milliseconds(0));
  }
  {
    Progress progress("reading", terminal, std::chrono::hours(1));
  }
  EXPECT_EQ(pipe.text + terminal.text, "");
}
