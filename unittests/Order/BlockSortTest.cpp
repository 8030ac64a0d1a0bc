//===- BlockSortTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Order/BlockSort.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <numeric>
#include <random>

using namespace mlir;

namespace {
/// A block of ops that carry their number, and a terminator. Op i reads what
/// `reads` says.
class NumberedBlock {
public:
  NumberedBlock(MLIRContext *context, ArrayRef<SmallVector<unsigned>> reads) {
    OpBuilder builder(context);
    builder.setInsertionPointToEnd(&block);
    SmallVector<Operation *> ops;
    for (unsigned i = 0; i < reads.size(); ++i) {
      OperationState state(builder.getUnknownLoc(), "test.op");
      state.addTypes(builder.getI32Type());
      state.addAttribute("number", builder.getI64IntegerAttr(i));
      ops.push_back(builder.create(state));
    }
    builder.create(OperationState(builder.getUnknownLoc(), "test.end"));
    for (auto [op, producers] : llvm::zip(ops, reads))
      for (unsigned producer : producers)
        op->insertOperands(op->getNumOperands(), ops[producer]->getResult(0));
  }

  ~NumberedBlock() { block.dropAllReferences(); }

  std::vector<int64_t> getOrder() {
    std::vector<int64_t> order;
    for (Operation &op : mpmd::getOpsBeforeTerminator(block))
      order.push_back(op.getAttrOfType<IntegerAttr>("number").getInt());
    return order;
  }

  Block block;
};

class BlockSortTest : public ::testing::Test {
protected:
  BlockSortTest() { context.allowUnregisteredDialects(); }

  MLIRContext context;
};
} // namespace

TEST_F(BlockSortTest, DescribedOpsAreSortedAsThoseOfABlock) {
  std::mt19937 random(5);
  unsigned numCycles = 0;
  for (unsigned trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    unsigned size = 2 + random() % 30;
    std::vector<SmallVector<unsigned>> reads(size);
    std::vector<mpmd::EdgeTable::Edge> edges;
    mpmd::OrderConstraints constraints(size);
    for (unsigned op = 0; op < size; ++op) {
      if (op > 0)
        reads[op].push_back(random() % op);
      if (unsigned later = random() % size; later > op && random() % 8 == 0)
        reads[op].push_back(later);
      if (unsigned other = random() % size; other < op && random() % 4 == 0)
        random() % 8 ? constraints.add(other, op) : constraints.add(op, other);
    }
    for (unsigned op = 0; op < size; ++op)
      for (unsigned producer : reads[op])
        edges.emplace_back(op, producer);
    NumberedBlock block(&context, reads);
    // Of ops that are not registered it is not known which effects they have.
    mpmd::BlockGraph graph(block.block, mpmd::BlockGraph::Effects::Ignored);
    bool isSorted = sortBlockTopologically(graph, constraints);
    auto sorted =
        mpmd::findSortedOrder(mpmd::EdgeTable(edges, size), constraints);
    ASSERT_EQ(sorted.has_value(), isSorted);
    numCycles += !isSorted;
    if (!isSorted)
      continue;
    std::vector<int64_t> order(sorted->order.begin(), sorted->order.end());
    ASSERT_EQ(order, block.getOrder());
    EXPECT_TRUE(llvm::is_sorted(order, [&](int64_t a, int64_t b) {
      return sorted->sweeps[a] < sorted->sweeps[b];
    }));
  }
  EXPECT_GT(numCycles, 0u);
  EXPECT_LT(numCycles, 200u);
}

TEST_F(BlockSortTest, EqualsUpstreamOnRandomGraphs) {
  std::mt19937 random(7);
  for (unsigned trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    unsigned size = 1 + random() % 12;
    std::vector<unsigned> rank(size);
    std::iota(rank.begin(), rank.end(), 0);
    std::shuffle(rank.begin(), rank.end(), random);
    // Every tenth graph may have cycles, the others follow a hidden order.
    bool mayHaveCycles = trial % 10 == 0;
    SmallVector<SmallVector<unsigned>> reads(size);
    for (unsigned i = 0; i < size; ++i)
      for (unsigned j = 0; j < size; ++j)
        if (i != j && random() % 4 == 0 && (mayHaveCycles || rank[j] < rank[i]))
          reads[i].push_back(j);

    NumberedBlock ours(&context, reads), upstream(&context, reads);
    bool isSorted = mpmd::sortBlockTopologically(ours.block);
    EXPECT_EQ(isSorted,
              sortTopologically(&upstream.block,
                                mpmd::getOpsBeforeTerminator(upstream.block)));
    EXPECT_EQ(ours.getOrder(), upstream.getOrder());
  }
}

TEST_F(BlockSortTest, OpThatWaitsLandsBehindAllThatWereReady) {
  // g f x y, where g reads f.
  NumberedBlock block(&context, {{1}, {}, {}, {}});
  EXPECT_TRUE(mpmd::sortBlockTopologically(block.block));
  EXPECT_EQ(block.getOrder(), (std::vector<int64_t>{1, 2, 3, 0}));
}

// No dialect says of an unknown op that it ends the block.
TEST_F(BlockSortTest, UnknownTerminatorStaysLast) {
  NumberedBlock block(&context, {{1}, {}});
  EXPECT_TRUE(mpmd::sortBlockTopologically(block.block));
  EXPECT_EQ(block.block.back().getName().getStringRef(), "test.end");
}

// Quadratic time would take minutes.
TEST_F(BlockSortTest, ReversesALongChain) {
  unsigned size = 100000;
  SmallVector<SmallVector<unsigned>> reads(size);
  for (unsigned i = 0; i + 1 < size; ++i)
    reads[i].push_back(i + 1);
  NumberedBlock block(&context, reads);
  EXPECT_TRUE(mpmd::sortBlockTopologically(block.block));
  EXPECT_EQ(block.getOrder().front(), size - 1);
  EXPECT_EQ(block.getOrder().back(), 0);
}
