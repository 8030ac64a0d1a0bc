//===- PlainJsonTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Text/PlainJson.h"
#include "gtest/gtest.h"
#include <limits>

using namespace meshwright;

static std::optional<int64_t> readInteger(llvm::StringRef text) {
  llvm::json::Value value = llvm::cantFail(parsePlainJson(text));
  return value.getAsArray()->front().getAsObject()->getInteger("n");
}

TEST(PlainJsonTest, ReadsNoIntegerThatDoesNotFit) {
  EXPECT_EQ(readInteger(R"([{"n": 9223372036854775807}])"),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(readInteger(R"([{"n": -9223372036854775808.0}])"),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(readInteger(R"([{"n": 4.0}])"), 4);
  EXPECT_EQ(readInteger(R"([{"n": 9223372036854775807.0}])"), std::nullopt);
  EXPECT_EQ(readInteger(R"([{"n": 9223372036854775808}])"), std::nullopt);
  EXPECT_EQ(readInteger(R"([{"n": 1e300}])"), std::nullopt);
}
