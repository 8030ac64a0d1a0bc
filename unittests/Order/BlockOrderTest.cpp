//===- BlockOrderTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The law of the order: it says what `Operation::isBeforeInBlock` says.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Order/BlockOrder.h"
#include "meshwright/InitDialects.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class BlockOrderTest : public ::testing::Test {
protected:
  void parse(unsigned numOps) {
    meshwright::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    std::string source = "func.func @f() {\n";
    for (unsigned i = 0; i < numOps; ++i)
      source += "%" + std::to_string(i) +
                " = stablehlo.constant dense<1.0> : tensor<f32>\n";
    module = parseSourceString<ModuleOp>(source + "return\n}", &context);
    ASSERT_TRUE(module);
    func = *module->getOps<func::FuncOp>().begin();
    for (Operation &op : func.front())
      ops.push_back(&op);
  }

  void expectBlockOrder(BlockOrder &order) {
    for (Operation *op : ops)
      for (Operation *other : ops)
        EXPECT_EQ(order.isBefore(op, other), op->isBeforeInBlock(other));
  }

  DialectRegistry registry;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp func;
  SmallVector<Operation *> ops;
};
} // namespace

TEST_F(BlockOrderTest, FollowsRandomMoves) {
  parse(12);
  BlockOrder order;
  IRRewriter rewriter(&context, &order);
  expectBlockOrder(order);
  std::mt19937 random(7);
  for (unsigned i = 0; i < 500; ++i) {
    // All but the terminator move.
    Operation *op = ops[random() % (ops.size() - 1)];
    Operation *next = ops[random() % ops.size()];
    if (op == next)
      continue;
    rewriter.moveOpBefore(op, next);
    expectBlockOrder(order);
  }
}

// Each move halves the gap, until the block is numbered again.
TEST_F(BlockOrderTest, FollowsMovesIntoOneGap) {
  parse(4);
  BlockOrder order;
  IRRewriter rewriter(&context, &order);
  for (unsigned i = 0; i < 200; ++i) {
    rewriter.moveOpBefore(ops[i % 2], ops[1 - i % 2]);
    rewriter.moveOpAfter(ops[2], ops[i % 2]);
    expectBlockOrder(order);
  }
}

TEST_F(BlockOrderTest, KnowsAnOpThatReplacesAnother) {
  parse(4);
  BlockOrder order;
  IRRewriter rewriter(&context, &order);
  expectBlockOrder(order);
  rewriter.setInsertionPoint(ops[1]);
  Operation *copy = rewriter.clone(*ops[1]);
  rewriter.eraseOp(ops[1]);
  ops[1] = copy;
  expectBlockOrder(order);
}

TEST_F(BlockOrderTest, FindsTheFirstUser) {
  parse(4);
  BlockOrder order;
  IRRewriter rewriter(&context, &order);
  EXPECT_EQ(order.getFirstUser(ops[0]), nullptr);
  auto add = [&](Operation *before) {
    rewriter.setInsertionPoint(before);
    return stablehlo::NegateOp::create(rewriter, before->getLoc(),
                                       ops[0]->getResult(0));
  };
  Operation *later = add(ops[3]);
  EXPECT_EQ(order.getFirstUser(ops[0]), later);
  Operation *sooner = add(ops[2]);
  EXPECT_EQ(order.getFirstUser(ops[0]), sooner);
  rewriter.moveOpAfter(sooner, later);
  EXPECT_EQ(order.getFirstUser(ops[0]), later);
}
