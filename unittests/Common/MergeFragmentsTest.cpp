//===- MergeFragmentsTest.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What passes cannot show: control operands, which do not survive a verifier,
// locations, and that the result does not depend on which body is the larger.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Common/MergeFragments.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/InitAll.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class MergeFragmentsTest : public ::testing::Test {
protected:
  MergeFragmentsTest() : context(getDialects()), rewriter(&context) {}

  static DialectRegistry getDialects() {
    DialectRegistry registry;
    meshwright::registerAllDialects(registry);
    return registry;
  }

  /// Parses the body of a function with arguments %x and %y. Control operands
  /// are allowed.
  void parse(const std::string &body) {
    std::string source = R"(
      !t = tensor<4xf32>
      !m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
      #topology = #mpmd.topology<<"m": <["x"=2]>>>
      func.func @f(%x: !m, %y: !m) -> !m attributes {topology = #topology} {)" +
                         body + "}";
    module = parseSourceString<ModuleOp>(
        source, ParserConfig(&context, /*verifyAfterParse=*/false));
    ASSERT_TRUE(module);
    func = *module->getOps<func::FuncOp>().begin();
    fragments = llvm::to_vector(func.getOps<FragmentOp>());
  }

  MLIRContext context;
  IRRewriter rewriter;
  OwningOpRef<ModuleOp> module;
  func::FuncOp func;
  SmallVector<FragmentOp> fragments;
};
} // namespace

/// A fragment that applies a unary op to its operand several times.
static std::string makeFragment(StringRef result, StringRef operand,
                                StringRef op, unsigned count) {
  std::string body;
  for (unsigned i = 0; i < count; ++i)
    body += llvm::formatv("%b{0} = stablehlo.{1} %b{2} : !t\n", i + 1, op, i);
  return (result + " = mpmd.fragment<mesh=\"m\", origin=[\"f\"]> (" + operand +
          ") (%b0: !t) {\n" + body + "mpmd.return %b" + Twine(count) +
          " : !t\n} : (!m) -> !m\n")
      .str();
}

TEST_F(MergeFragmentsTest, RunsProducerFirstWhicheverBodyIsLarger) {
  for (unsigned numProducer : {0u, 1u, 2u, 5u})
    for (unsigned numConsumer : {0u, 1u, 2u, 5u}) {
      SCOPED_TRACE(llvm::formatv("{0} {1}", numProducer, numConsumer).str());
      parse(makeFragment("%0", "%x", "abs", numProducer) +
            makeFragment("%1", "%0", "sine", numConsumer) + "return %1 : !m");
      FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
      EXPECT_TRUE(succeeded(verify(*module)));
      Block &body = merged.getRegion().front();
      Value value = body.getArgument(0);
      unsigned index = 0;
      for (Operation &op : body.without_terminator()) {
        EXPECT_EQ(op.getName().stripDialect().str(),
                  index++ < numProducer ? "abs" : "sine");
        EXPECT_EQ(op.getOperand(0), value);
        value = op.getResult(0);
      }
      EXPECT_EQ(index, numProducer + numConsumer);
      EXPECT_EQ(body.getTerminator()->getOperand(0), value);
    }
}

TEST_F(MergeFragmentsTest, KeepsControlOperandsOnOthersInShortForm) {
  parse(makeFragment("%0", "%x", "abs", 1) +
        makeFragment("%1", "%x", "abs", 1) + R"(
    %2 = mpmd.fragment<mesh="m", origin=[]> (%x, %0) {mpmd.control_operand_start_idx = 1 : i64} (%a: !t) {
      mpmd.return %a : !t
    } : (!m, !m) -> !m
    %3 = mpmd.fragment<mesh="m", origin=["f"]> (%y, %2, %1, %0) {mpmd.control_operand_start_idx = 2 : i64} (%a: !t, %b: !t) {
      mpmd.return %b : !t
    } : (!m, !m, !m, !m) -> !m
    return %3 : !m)");
  FragmentOp merged = mergeFragments(fragments[2], fragments[3], rewriter);
  SmallVector<Value> expected{
      func.getArgument(1), func.getArgument(0), fragments[0]->getResult(0),
      fragments[1]->getResult(0), fragments[0]->getResult(0)};
  EXPECT_EQ(SmallVector<Value>(merged->getOperands()), expected);
  EXPECT_EQ(merged.getRegion().getNumArguments(), 2u);
  EXPECT_EQ(merged->getAttr(kControlOperandStartIdxAttr),
            rewriter.getI64IntegerAttr(2));
}

// The order that control operands demand between the two is met by merging.
TEST_F(MergeFragmentsTest, DropsControlOperandsBetweenTheTwo) {
  parse(makeFragment("%0", "%x", "abs", 1) + R"(
    %1 = mpmd.fragment<mesh="m", origin=["f"]> (%y, %0) {mpmd.control_operand_start_idx = 1 : i64} (%a: !t) {
      mpmd.return %a : !t
    } : (!m, !m) -> !m
    return %1 : !m)");
  FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
  EXPECT_EQ(SmallVector<Value>(merged->getOperands()),
            SmallVector<Value>(func.getArguments()));
  EXPECT_FALSE(merged->hasAttr(kControlOperandStartIdxAttr));
  EXPECT_EQ(merged->getNumResults(), 1u);
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(MergeFragmentsTest, MergerFusesTheLocationsThatSingleMergesWould) {
  std::string body;
  for (unsigned i = 0; i < 5; ++i)
    body += makeFragment("%f" + std::to_string(i),
                         i ? "%f" + std::to_string(i - 1) : "%x", "abs", 1);
  body += "return %f4 : !m";
  for (bool isFromTheEnd : {false, true}) {
    SCOPED_TRACE(isFromTheEnd);
    auto mergeAll = [&](auto merge) {
      FragmentOp merged = isFromTheEnd ? fragments.back() : fragments.front();
      for (unsigned i = 1; i < 5; ++i)
        merged = isFromTheEnd ? merge(fragments[4 - i], merged)
                              : merge(merged, fragments[i]);
      return merged;
    };
    parse(body);
    Location expected = mergeAll([&](FragmentOp producer, FragmentOp consumer) {
                          return mergeFragments(producer, consumer, rewriter);
                        }).getLoc();
    parse(body);
    FragmentMerger merger;
    FragmentOp merged = mergeAll([&](FragmentOp producer, FragmentOp consumer) {
      FragmentGroup group(producer), added(consumer);
      group.append(added);
      return merger.build(group, producer, rewriter.getDictionaryAttr({}),
                          rewriter);
    });
    merger.setLocations(func);
    EXPECT_EQ(merged.getLoc(), expected);
    EXPECT_EQ(cast<FusedLoc>(expected).getLocations().size(), 5u);
  }
}
