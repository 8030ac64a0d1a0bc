//===- TensorBytesTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"
#include <limits>

using namespace mlir;
using meshwright::countBytes;

namespace {
class TensorBytesTest : public ::testing::Test {
protected:
  int64_t count(ArrayRef<int64_t> shape, Type element) {
    return countBytes(RankedTensorType::get(shape, element));
  }

  MLIRContext context;
  Builder builder{&context};
};
} // namespace

TEST_F(TensorBytesTest, CountsWholeBytesOfEachBuffer) {
  EXPECT_EQ(count({}, builder.getF32Type()), 4);
  EXPECT_EQ(count({3, 5}, builder.getBF16Type()), 30);
  EXPECT_EQ(count({7}, builder.getI1Type()), 7);
  EXPECT_EQ(count({7}, builder.getIntegerType(4)), 4);
  EXPECT_EQ(count({7}, builder.getIntegerType(2, /*isSigned=*/false)), 2);
  EXPECT_EQ(count({0, 9}, builder.getIntegerType(4)), 0);
  EXPECT_EQ(count({3}, ComplexType::get(builder.getF64Type())), 48);
}

TEST_F(TensorBytesTest, AddsAsFarAsCanBeCounted) {
  int64_t sum = 3;
  meshwright::addCount(sum, 4);
  EXPECT_EQ(sum, 7);
  for (int i = 0; i < 4; ++i)
    meshwright::addCount(sum, int64_t(1) << 61);
  EXPECT_EQ(sum, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(meshwright::roundCount(2.5), 3);
  EXPECT_EQ(meshwright::roundCount(1e300), int64_t(1) << 62);
}

TEST_F(TensorBytesTest, CountsTheStorageOfQuantizedNumbers) {
  context.loadDialect<quant::QuantDialect>();
  auto type = quant::UniformQuantizedType::get(
      quant::QuantizationFlags::Signed, builder.getIntegerType(4),
      builder.getF32Type(), 1.0, 0, -8, 7);
  EXPECT_EQ(count({5}, type), 3);
}

TEST_F(TensorBytesTest, CountsDynamicDimensionsOnce) {
  EXPECT_EQ(count({ShapedType::kDynamic, 3}, builder.getF32Type()), 12);
}

TEST_F(TensorBytesTest, CountsBits) {
  auto count = [&](ArrayRef<int64_t> shape, Type element) {
    return meshwright::countBits(RankedTensorType::get(shape, element));
  };
  EXPECT_EQ(count({7}, builder.getI1Type()), 7);
  EXPECT_EQ(count({7}, builder.getIntegerType(4)), 28);
  EXPECT_EQ(count({3}, ComplexType::get(builder.getF64Type())), 384);
}

TEST_F(TensorBytesTest, StopsAtWhatCanBeCounted) {
  int64_t large = int64_t(1) << 40;
  EXPECT_EQ(count({large, large}, builder.getF32Type()), int64_t(1) << 61);
  EXPECT_EQ(meshwright::countBits(
                RankedTensorType::get({large, large}, builder.getF32Type())),
            std::numeric_limits<int64_t>::max());
}
