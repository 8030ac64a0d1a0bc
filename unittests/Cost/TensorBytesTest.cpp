//===- TensorBytesTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Cost/Device.h"
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

// What libtpu 0.0.42.1 says of arguments, by its layouts and in bytes.
TEST_F(TensorBytesTest, PadsToTheTilesOfTpus) {
  llvm::Expected<meshwright::Device> found = meshwright::findDevice("tpu-v5e");
  ASSERT_TRUE(bool(found));
  auto count = [&](ArrayRef<int64_t> shape, Type element) {
    return countBytes(RankedTensorType::get(shape, element), *found);
  };
  Type f32 = builder.getF32Type(), bf16 = builder.getBF16Type();
  Type i1 = builder.getI1Type(), i4 = builder.getIntegerType(4);
  EXPECT_EQ(count({}, f32), 512);
  EXPECT_EQ(count({300}, f32), 2048);            // {0:T(512)}
  EXPECT_EQ(count({1025}, f32), 8192);           // {0:T(1024)}
  EXPECT_EQ(count({300}, bf16), 1024);           // {0:T(512)(128)(2,1)}
  EXPECT_EQ(count({3, 5}, f32), 2048);           // {1,0:T(4,128)}
  EXPECT_EQ(count({100, 1}, f32), 512);          // {0,1:T(1,128)}
  EXPECT_EQ(count({100, 1}, bf16), 512);         // {0,1:T(2,128)(2,1)}
  EXPECT_EQ(count({100, 100}, bf16), 26624);     // {1,0:T(8,128)(2,1)}
  EXPECT_EQ(count({4096, 3}, f32), 65536);       // {0,1:T(4,128)}
  EXPECT_EQ(count({8, 100, 100}, bf16), 204800); // {2,0,1:T(8,128)(2,1)}
  EXPECT_EQ(count({32, 56, 56, 64}, bf16), 25690112);
  EXPECT_EQ(count({8, 8}, i4), 512);      // {1,0:T(8,128)(8,1)E(4)}
  EXPECT_EQ(count({128, 128}, i4), 8192); // {1,0:T(64,128)(8,1)E(4)}
  EXPECT_EQ(count({33, 129}, i1), 10240); // {1,0:T(8,128)(4,1)}
  EXPECT_EQ(count({3, 5}, ComplexType::get(f32)), 4096);
  EXPECT_EQ(count({0, 5}, f32), 0);
  EXPECT_EQ(count({ShapedType::kDynamic, 3}, f32), 512);
  EXPECT_EQ(count({int64_t(1) << 40, int64_t(1) << 40}, f32), int64_t(1) << 61);
  EXPECT_EQ(meshwright::countBytes({8, 8}, 4, *found), 512);
  EXPECT_EQ(meshwright::countBytes({8, 8}, 0, *found), 0);
}

TEST_F(TensorBytesTest, KeepsTheOrderThatAUserChose) {
  llvm::Expected<meshwright::Device> found = meshwright::findDevice("tpu-v5e");
  ASSERT_TRUE(bool(found));
  auto type = RankedTensorType::get({96, 256}, builder.getF32Type());
  EXPECT_EQ(countBytes(type, *found), 96 * 256 * 4);
  EXPECT_EQ(countBytes(type, *found, meshwright::parseOrder("{1,0}")),
            96 * 256 * 4);
  for (StringRef text : {"{0,1}", "{0,1:T(8,128)}"})
    EXPECT_EQ(countBytes(type, *found, meshwright::parseOrder(text)),
              256 * 128 * 4);
  // No orders of two dimensions.
  for (StringRef text : {"", "auto", "{}", "{0}", "{0,0}", "{0,2}", "{0,x}"})
    EXPECT_EQ(countBytes(type, *found, meshwright::parseOrder(text)),
              96 * 256 * 4)
        << text.str();
}

TEST_F(TensorBytesTest, KeepsArraysDenseOnOtherDevices) {
  llvm::Expected<meshwright::Device> found = meshwright::findDevice("h100");
  ASSERT_TRUE(bool(found));
  auto type = RankedTensorType::get({3, 5}, builder.getIntegerType(4));
  EXPECT_EQ(countBytes(type, *found), 8);
}

TEST_F(TensorBytesTest, StopsAtWhatCanBeCounted) {
  int64_t large = int64_t(1) << 40;
  EXPECT_EQ(count({large, large}, builder.getF32Type()), int64_t(1) << 61);
  EXPECT_EQ(meshwright::countBits(
                RankedTensorType::get({large, large}, builder.getF32Type())),
            std::numeric_limits<int64_t>::max());
}
