//===- RegionRewritingTest.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/IR/RegionRewriting.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/InitDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

namespace {
class RegionRewritingTest : public ::testing::Test {
protected:
  RegionRewritingTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  Region &parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module->getBodyRegion();
  }

  unsigned countOps() {
    unsigned count = 0;
    module->walk([&](Operation *) { ++count; });
    return count - 1; // Without the module.
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// negate(negate(x)) is x.
struct NegatedTwice : OpRewritePattern<stablehlo::NegateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(stablehlo::NegateOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<stablehlo::NegateOp>();
    if (!inner)
      return failure();
    rewriter.replaceOp(op, inner.getOperand());
    return success();
  }
};

/// Lets a cosine read the argument once the function has no sine, which is not next to it.
struct CosineAfterSines : OpRewritePattern<stablehlo::CosineOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(stablehlo::CosineOp op,
                                PatternRewriter &rewriter) const override {
    Block &block = *op->getBlock();
    if (!block.getOps<stablehlo::SineOp>().empty() ||
        op.getOperand() == block.getArgument(0))
      return failure();
    rewriter.modifyOpInPlace(op,
                             [&] { op->setOperand(0, block.getArgument(0)); });
    return success();
  }
};
} // namespace

TEST_F(RegionRewritingTest, SeesSeveralBlocksAtAnyDepth) {
  EXPECT_FALSE(holdsSeveralBlocks(parse(R"(
    func.func private @declared()
    func.func @f() { return }
  )")));
  EXPECT_TRUE(holdsSeveralBlocks(parse(R"(
    module { func.func @f() { return ^unreached: return } }
  )")));
}

TEST_F(RegionRewritingTest, RewritesWhatMatchesAndErasesWhatIsDead) {
  Region &region = parse(R"(
    func.func @f(%x: tensor<f32>) -> tensor<f32> {
      %unread = stablehlo.sine %x : tensor<f32>
      %of_unread = stablehlo.cosine %unread : tensor<f32>
      %0 = stablehlo.negate %x : tensor<f32>
      %1 = stablehlo.negate %0 : tensor<f32>
      %2 = stablehlo.negate %1 : tensor<f32>
      %3 = stablehlo.negate %2 : tensor<f32>
      return %3 : tensor<f32>
    }
  )");
  RewritePatternSet patterns(&context);
  patterns.add<NegatedTwice>(&context);
  ASSERT_TRUE(succeeded(applyPatternsWhere(
      region, std::move(patterns), {}, llvm::IsaPred<stablehlo::NegateOp>)));
  EXPECT_EQ(countOps(), 2u); // The function and its return.
}

TEST_F(RegionRewritingTest, AsksAgainAfterAChangeElsewhere) {
  Region &region = parse(R"(
    func.func @f(%x: tensor<f32>) -> tensor<f32> {
      %unread = stablehlo.sine %x : tensor<f32>
      %0 = stablehlo.negate %x : tensor<f32>
      %1 = stablehlo.cosine %0 : tensor<f32>
      return %1 : tensor<f32>
    }
  )");
  RewritePatternSet patterns(&context);
  patterns.add<CosineAfterSines>(&context);
  ASSERT_TRUE(succeeded(applyPatternsWhere(
      region, std::move(patterns), {}, llvm::IsaPred<stablehlo::CosineOp>)));
  EXPECT_EQ(countOps(), 3u); // The sine and what the cosine read are gone.
}

TEST_F(RegionRewritingTest, LeavesAloneWhatMayNotMatch) {
  Region &region = parse(R"(
    func.func @f(%x: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.negate %x : tensor<f32>
      %1 = stablehlo.negate %0 : tensor<f32>
      return %1 : tensor<f32>
    }
  )");
  RewritePatternSet patterns(&context);
  patterns.add<NegatedTwice>(&context);
  ASSERT_TRUE(succeeded(applyPatternsWhere(region, std::move(patterns), {},
                                           [](Operation *) { return false; })));
  EXPECT_EQ(countOps(), 4u);
}
