//===- ElementKindsTest.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/ElementKinds.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/TypeRange.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::stablehlo;

namespace {

// Such a type has few parts and many leaves, and would be printed without end.
TEST(ElementKindsTest, LooksAtPartsOfTuplesOnce) {
  MLIRContext context;
  Type type = RankedTensorType::get({}, Float32Type::get(&context));
  for (int depth = 0; depth < 64; ++depth)
    type = TupleType::get(&context, {type, type});
  EXPECT_TRUE(isTupleOfValues(type));
  EXPECT_FALSE(isTupleOfValues(
      TupleType::get(&context, {type, IndexType::get(&context)})));
}

} // namespace
