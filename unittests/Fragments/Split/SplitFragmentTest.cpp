//===- SplitFragmentTest.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The split of a fragment by itself, for cuts that no pass makes: the order of
// operands, results and of the values that cross the cut, attributes of both
// halves, and cuts that are refused.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Split/SplitFragment.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/InitDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class SplitFragmentTest : public ::testing::Test {
protected:
  SplitFragmentTest() : context(getDialects()), rewriter(&context) {}

  static DialectRegistry getDialects() {
    DialectRegistry registry;
    meshwright::registerAllDialects(registry);
    return registry;
  }

  /// Parses the body of a function with arguments %x and %y.
  void parse(StringRef body) {
    std::string source = R"(
      !t = tensor<4xf32>
      !m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
      !s = !mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@g, [{"x"}]>>
      #topology = #mpmd.topology<<"m": <["x"=2]>>>
      func.func @f(%x: !m, %y: !m) attributes {topology = #topology} {)" +
                         body.str() + "return\n}";
    module = parseSourceString<ModuleOp>(source, &context);
    ASSERT_TRUE(module);
    func = *module->getOps<func::FuncOp>().begin();
  }

  SmallVector<FragmentOp> getFragments() {
    return llvm::to_vector(func.getOps<FragmentOp>());
  }

  /// Splits the first fragment. Ops of the body are given by their names.
  bool split(ArrayRef<unsigned> late, ArrayRef<StringRef> early) {
    FragmentOp fragment = getFragments().front();
    FragmentCut cut;
    cut.lateResults.resize(fragment->getNumResults());
    for (unsigned index : late)
      cut.lateResults.set(index);
    for (Operation &op : fragment.getRegion().front())
      if (llvm::is_contained(early, op.getName().stripDialect()))
        cut.earlyOps.insert(&op);
    return splitFragment(fragment, cut, rewriter);
  }

  MLIRContext context;
  IRRewriter rewriter;
  OwningOpRef<ModuleOp> module;
  func::FuncOp func;
};
} // namespace

/// The names of the ops of the body, and of those whose results it returns;
/// arguments by their numbers.
static std::string describe(FragmentOp fragment) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Block &body = fragment.getRegion().front();
  for (Operation &op : body.without_terminator())
    os << op.getName().stripDialect() << " ";
  os << "->";
  for (Value value : body.getTerminator()->getOperands()) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      os << " " << argument.getArgNumber();
    else
      os << " " << value.getDefiningOp()->getName().stripDialect();
  }
  return text;
}

TEST_F(SplitFragmentTest, OrdersResultsAndOperandsOfBothHalves) {
  parse(R"(
    %0:4 = mpmd.fragment<mesh="m", origin=["f"(1)]> (%x, %y) (%a: !t, %b: !t) {
      %2 = stablehlo.abs %a : !t
      %3 = stablehlo.sine %b : !t
      %4 = stablehlo.add %2, %b : !t
      %5 = stablehlo.negate %4 : !t
      mpmd.return %4, %3, %5, %2 : !t, !t, !t, !t
    } : (!m, !m) -> (!m, !s, !m, !m)
    %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0#0, %0#3, %0#2) (%a: !t, %b: !t, %c: !t) {
      mpmd.return %a : !t
    } : (!m, !m, !m) -> !m
  )");
  ASSERT_TRUE(split(/*late=*/{0, 2}, {"abs", "sine"}));
  EXPECT_TRUE(succeeded(verify(*module)));
  SmallVector<FragmentOp> fragments = getFragments();
  ASSERT_EQ(fragments.size(), 3u);
  FragmentOp early = fragments[0], late = fragments[1], reader = fragments[2];

  // Results that are not late, then residuals: of `add`, last operand first.
  EXPECT_EQ(describe(early), "abs sine -> sine abs 1 abs");
  EXPECT_EQ(SmallVector<Value>(early->getOperands()),
            SmallVector<Value>(func.getArguments()));
  EXPECT_EQ(describe(late), "add negate -> add negate");
  EXPECT_EQ(SmallVector<Value>(late->getOperands()),
            (SmallVector<Value>{func.getArgument(0), func.getArgument(1),
                                early->getResult(2), early->getResult(3)}));
  Block &body = late.getRegion().front();
  EXPECT_EQ(body.front().getOperand(0), body.getArgument(3));
  EXPECT_EQ(body.front().getOperand(1), body.getArgument(2));

  // Results keep their types; a residual has no sharding.
  Type sharded = early->getResult(0).getType();
  EXPECT_TRUE(cast<MeshTensorType>(sharded).getSharding());
  EXPECT_FALSE(
      cast<MeshTensorType>(early->getResult(2).getType()).getSharding());
  EXPECT_EQ(SmallVector<Value>(reader->getOperands()),
            (SmallVector<Value>{late->getResult(0), early->getResult(1),
                                late->getResult(1)}));
}

TEST_F(SplitFragmentTest, GivesBothHalvesAllAttributesAndAMark) {
  parse(R"(
    %0:2 = mpmd.fragment<mesh="m", origin=["f"(1), "g"(1)], stage=2> (%x) {call_counter = 3 : ui32, remat} (%a: !t) {
      %1 = stablehlo.abs %a : !t
      %2 = stablehlo.sine %1 : !t
      mpmd.return %1, %2 : !t, !t
    } : (!m) -> (!m, !m)
  )");
  FragmentOp original = getFragments().front();
  Location loc = original.getLoc();
  NamedAttrList attributes(original->getAttrs());
  ASSERT_TRUE(split(/*late=*/{1}, {"abs"}));
  SmallVector<FragmentOp> fragments = getFragments();
  StringRef marks[] = {kSplitKeepTransferredAttr, kSplitDropTransferredAttr};
  for (auto [half, mark] : llvm::zip_equal(fragments, marks)) {
    EXPECT_TRUE(isSplitFragment(half));
    EXPECT_EQ(half.getLoc(), loc);
    NamedAttrList expected = attributes;
    expected.set(mark, rewriter.getUnitAttr());
    EXPECT_EQ(half->getAttrDictionary(), expected.getDictionary(&context));
  }
}

// Arguments cross the cut as well, each residual once.
TEST_F(SplitFragmentTest, LetsResidualsCrossOnceInTheOrderOfTheirDiscovery) {
  parse(R"(
    %0:3 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %y) (%a: !t, %b: !t) {
      %1 = stablehlo.abs %a : !t
      %2 = stablehlo.clamp %1, %b, %a : !t
      %3 = stablehlo.add %b, %1 : !t
      mpmd.return %2, %3, %1 : !t, !t, !t
    } : (!m, !m) -> (!m, !m, !m)
  )");
  ASSERT_TRUE(split(/*late=*/{0, 1}, {"abs"}));
  EXPECT_TRUE(succeeded(verify(*module)));
  // The last late result is looked at first.
  EXPECT_EQ(describe(getFragments()[0]), "abs -> abs abs 1 0");
}

// An op that no result needs is late, and takes along what it reads.
TEST_F(SplitFragmentTest, KeepsSideEffectsInTheLateHalf) {
  parse(R"(
    %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x, %y) (%a: !t, %b: !t) {
      %1 = stablehlo.abs %a : !t
      %2 = stablehlo.sine %b : !t
      %3 = stablehlo.custom_call @g(%1) {has_side_effect = true} : (!t) -> !t
      mpmd.return %1, %2 : !t, !t
    } : (!m, !m) -> (!m, !m)
  )");
  ASSERT_TRUE(split(/*late=*/{1}, {"abs"}));
  EXPECT_TRUE(succeeded(verify(*module)));
  SmallVector<FragmentOp> fragments = getFragments();
  EXPECT_EQ(describe(fragments[0]), "abs -> abs 1 abs");
  EXPECT_EQ(describe(fragments[1]), "sine custom_call -> sine");
  Block &body = fragments[1].getRegion().front();
  EXPECT_EQ(body.front().getOperand(0), body.getArgument(2));
  EXPECT_EQ(body.front().getNextNode()->getOperand(0), body.getArgument(3));
}

TEST_F(SplitFragmentTest, RefusesACutWithNothingLate) {
  StringRef program = R"(
    %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !t) {
      %1 = stablehlo.abs %a : !t
      mpmd.return %1, %a : !t, !t
    } : (!m) -> (!m, !m)
  )";
  parse(program);
  EXPECT_FALSE(split(/*late=*/{1}, {"abs"}));
  EXPECT_EQ(getFragments().size(), 1u);
  EXPECT_FALSE(isSplitFragment(getFragments().front()));
}

TEST_F(SplitFragmentTest, RefusesValuesThatCannotLeaveAFragment) {
  parse(R"(
    %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !t) {
      %1 = stablehlo.tuple %a, %a : tuple<!t, !t>
      %2 = stablehlo.get_tuple_element %1[0] : (tuple<!t, !t>) -> !t
      mpmd.return %a, %2 : !t, !t
    } : (!m) -> (!m, !m)
  )");
  EXPECT_FALSE(split(/*late=*/{1}, {"tuple"}));
  EXPECT_EQ(getFragments().size(), 1u);
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(SplitFragmentTest, LetsTokensCross) {
  parse(R"(
    %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !t) {
      %1 = stablehlo.create_token : !stablehlo.token
      %2 = stablehlo.custom_call @g(%a, %1) : (!t, !stablehlo.token) -> !t
      mpmd.return %a, %2 : !t, !t
    } : (!m) -> (!m, !m)
  )");
  ASSERT_TRUE(split(/*late=*/{1}, {"create_token"}));
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(describe(getFragments()[0]), "create_token -> 0 create_token 0");
}

TEST_F(SplitFragmentTest, ReportsShardings) {
  parse(R"(
    mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@g, [{}]>]> (%x) (%a: !t) {
      mpmd.return
    } : (!m) -> ()
  )");
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diag) { message = diag.str(); });
  EXPECT_TRUE(failed(verifyNotYetSharded(getFragments().front())));
  EXPECT_EQ(message, "fragment to split already has shardings; split fragments "
                     "before sharding propagation");
}
