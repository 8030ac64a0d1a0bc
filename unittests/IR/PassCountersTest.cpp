//===- PassCountersTest.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Erase/Passes.h"
#include "llvm/ADT/Statistic.h"
#include "gtest/gtest.h"

#if LLVM_ENABLE_STATS
TEST(PassCountersTest, BeginAtZeroAndHaveNames) {
  std::unique_ptr<mlir::Pass> pass = mlir::mpmd::createErasePartitioningPass();
  ASSERT_FALSE(pass->getStatistics().empty());
  for (mlir::Pass::Statistic *counter : pass->getStatistics()) {
    EXPECT_EQ(counter->getValue(), 0u);
    EXPECT_TRUE(llvm::StringRef(counter->getName()).starts_with("num-"));
  }
}
#endif
