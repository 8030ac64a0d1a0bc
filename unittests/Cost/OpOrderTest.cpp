//===- OpOrderTest.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Temporaries/OpOrder.h"
#include "meshwright/Cost/Device.h"
#include "meshwright/InitDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

/// The numbers of the ops of a function, in the order of the text.
static std::vector<unsigned> number(llvm::StringRef device) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  // A gradient of a weight and what is added to it, then that of an input.
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @f(%w: tensor<4x4xf32>, %x: tensor<4x4xf32>, %sum: tensor<4x4xf32>)
        -> (tensor<4x4xf32>, tensor<4x4xf32>) {
      %dw = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0]
          : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %g = stablehlo.negate %dw : tensor<4x4xf32>
      %dx = stablehlo.tanh %x : tensor<4x4xf32>
      %dy = stablehlo.dot_general %dx, %w, contracting_dims = [1] x [0]
          : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %new = stablehlo.add %sum, %g : tensor<4x4xf32>
      %unread = stablehlo.add %sum, %sum : tensor<4x4xf32>
      return %dy, %new : tensor<4x4xf32>, tensor<4x4xf32>
    })",
                                            &context);
  EXPECT_TRUE(module);
  Block &block = module->lookupSymbol<func::FuncOp>("f").front();
  auto numbers = numberOps(block, llvm::cantFail(findDevice(device)));
  std::vector<unsigned> found;
  for (Operation &op : block.without_terminator())
    found.push_back(numbers.at(&op));
  return found;
}

TEST(OpOrderTest, IsThatOfTheProgramOnTpus) {
  EXPECT_EQ(number("tpu-v5p"), (std::vector<unsigned>{0, 1, 2, 3, 4, 5}));
}

TEST(OpOrderTest, IsThatOfResultsOnGpus) {
  // What a product reads, the first result, all that the second needs, the rest.
  EXPECT_EQ(number("h100"), (std::vector<unsigned>{2, 3, 0, 1, 4, 5}));
}
