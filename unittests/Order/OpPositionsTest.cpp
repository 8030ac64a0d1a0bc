//===- OpPositionsTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The law of positions: they say what `Operation::isBeforeInBlock` says.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Order/OpPositions.h"
#include "meshwright/InitAll.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class OpPositionsTest : public ::testing::Test {
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

  void expectBlockOrder(const OpPositions &positions) {
    for (Operation *op : ops)
      for (Operation *other : ops)
        EXPECT_EQ(positions.isBefore(op, other), op->isBeforeInBlock(other));
  }

  DialectRegistry registry;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp func;
  SmallVector<Operation *> ops;
};
} // namespace

TEST_F(OpPositionsTest, FollowsRandomMoves) {
  parse(12);
  OpPositions positions(func);
  expectBlockOrder(positions);
  std::mt19937 random(7);
  for (unsigned i = 0; i < 500; ++i) {
    // All but the terminator move.
    Operation *op = ops[random() % (ops.size() - 1)];
    Operation *next = ops[random() % ops.size()];
    if (op == next)
      continue;
    op->moveBefore(next);
    positions.update(op);
    expectBlockOrder(positions);
  }
}

// Each move halves the gap, until the block is numbered again.
TEST_F(OpPositionsTest, FollowsMovesIntoOneGap) {
  parse(4);
  OpPositions positions(func);
  for (unsigned i = 0; i < 200; ++i) {
    ops[i % 2]->moveBefore(ops[1 - i % 2]);
    positions.update(ops[i % 2]);
    ops[2]->moveAfter(ops[i % 2]);
    positions.update(ops[2]);
    expectBlockOrder(positions);
  }
}

TEST_F(OpPositionsTest, LetsAnOpStandForAnother) {
  parse(4);
  OpPositions positions(func);
  Operation *copy = ops[1]->clone();
  func.front().getOperations().insert(ops[1]->getIterator(), copy);
  positions.replace(ops[1], copy);
  ops[1]->erase();
  ops[1] = copy;
  expectBlockOrder(positions);
}
