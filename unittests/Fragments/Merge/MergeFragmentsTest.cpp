//===- MergeFragmentsTest.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The merge of two fragments by itself: the order of operands, results and
// origins, which no pass shows for every pair; which stages it refuses; and
// what passes cannot show: control operands, which do not survive a verifier,
// locations, and that the result does not depend on which body is the larger.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Merge/MergeFragments.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/InitDialects.h"
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

static SmallVector<Value> getOperands(FragmentOp fragment) {
  return SmallVector<Value>(fragment->getOperands());
}

/// What the body returns, as the names of the ops that compute it.
static std::string describeReturned(FragmentOp fragment) {
  std::string text;
  for (Value value :
       fragment.getRegion().front().getTerminator()->getOperands()) {
    Operation *def = value.getDefiningOp();
    text += (text.empty() ? "" : " ") +
            (def ? def->getName().stripDialect().str() : "argument");
  }
  return text;
}

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
      return merger.build(group, producer,
                          MergedAttributes::ofNone({producer, consumer}),
                          rewriter);
    });
    merger.setLocations(func);
    EXPECT_EQ(merged.getLoc(), expected);
    EXPECT_EQ(cast<FusedLoc>(expected).getLocations().size(), 5u);
  }
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

TEST_F(MergeFragmentsTest, ListsOperandsOfProducerThenNewOnesEachOnce) {
  parse(R"(
    %0:2 = mpmd.fragment<mesh="m", origin=[]> (%y, %x, %y) (%a: !t, %b: !t, %c: !t) {
      %5 = stablehlo.clamp %a, %b, %c : !t
      mpmd.return %5, %c : !t, !t
    } : (!m, !m, !m) -> (!m, !m)
    %1 = mpmd.transfer %x : (!m) -> !m
    %2 = mpmd.fragment<mesh="m", origin=["f"]> (%1, %x, %0#1, %1, %0#0) (%a: !t, %b: !t, %c: !t, %d: !t, %e: !t) {
      %5 = stablehlo.clamp %a, %b, %c : !t
      %6 = stablehlo.clamp %5, %d, %e : !t
      mpmd.return %6 : !t
    } : (!m, !m, !m, !m, !m) -> !m
    return %2 : !m)");
  Value transferred = fragments[1]->getOperand(0);
  FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
  ASSERT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(getOperands(merged),
            (SmallVector<Value>{func.getArgument(1), func.getArgument(0),
                                transferred}));
  // Repetitions read the first argument, results what the producer returns.
  Block &body = merged.getRegion().front();
  auto it = body.begin();
  Operation *produced = &*it++, *inner = &*it++, *outer = &*it++;
  SmallVector<Value> arguments(body.getArguments());
  EXPECT_EQ(SmallVector<Value>(produced->getOperands()),
            (SmallVector<Value>{arguments[0], arguments[1], arguments[0]}));
  EXPECT_EQ(SmallVector<Value>(inner->getOperands()),
            (SmallVector<Value>{arguments[2], arguments[1], arguments[0]}));
  EXPECT_EQ(SmallVector<Value>(outer->getOperands()),
            (SmallVector<Value>{inner->getResult(0), arguments[2],
                                produced->getResult(0)}));
}

TEST_F(MergeFragmentsTest, PutsOnlyOperandInPlaceOfOnlyResult) {
  parse(makeFragment("%0", "%x", "abs", 1) + R"(
    %1 = mpmd.fragment<mesh="m", origin=[]> (%y, %0, %y, %x) (%a: !t, %b: !t, %c: !t, %d: !t) {
      mpmd.return %b : !t
    } : (!m, !m, !m, !m) -> !m
    return %1 : !m)");
  FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
  ASSERT_TRUE(succeeded(verify(*module)));
  Value x = func.getArgument(0), y = func.getArgument(1);
  EXPECT_EQ(getOperands(merged), (SmallVector<Value>{y, x, y, x}));
  Block &body = merged.getRegion().front();
  EXPECT_EQ(body.front().getOperand(0), body.getArgument(1));
}

// A second use of the result makes operands unique, whatever else uses it.
TEST_F(MergeFragmentsTest, UnitesOperandsIfTheOnlyResultHasAnotherUse) {
  for (bool isReadTwice : {false, true}) {
    SCOPED_TRACE(isReadTwice);
    parse(makeFragment("%0", "%x", "abs", 1) +
          "%1 = mpmd.fragment<mesh=\"m\", origin=[]> (%y, %0, " +
          (isReadTwice ? "%0" : "%y") + R"() (%a: !t, %b: !t, %c: !t) {
            mpmd.return %b : !t
          } : (!m, !m, !m) -> !m
          return )" +
          (isReadTwice ? "%1" : "%0") + " : !m");
    FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
    EXPECT_TRUE(succeeded(verify(*module)));
    EXPECT_EQ(getOperands(merged), SmallVector<Value>(func.getArguments()));
  }
}

TEST_F(MergeFragmentsTest, UnitesOperandsIfProducerHasNone) {
  parse(R"(
    %0 = mpmd.fragment<mesh="m", origin=[]> () () {
      %2 = stablehlo.constant dense<1.0> : !t
      mpmd.return %2 : !t
    } : () -> !m
    %1 = mpmd.fragment<mesh="m", origin=[]> (%y, %0, %y) (%a: !t, %b: !t, %c: !t) {
      mpmd.return %b : !t
    } : (!m, !m, !m) -> !m
    return %1 : !m)");
  FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(getOperands(merged), SmallVector<Value>{func.getArgument(1)});
}

// The consumer is one only by its role.
TEST_F(MergeFragmentsTest, UnitesOperandsOfFragmentsThatDoNotReadEachOther) {
  parse(makeFragment("%0", "%x", "abs", 1) +
        makeFragment("%1", "%y", "sine", 1) + "return %0 : !m");
  FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(getOperands(merged), SmallVector<Value>(func.getArguments()));
  EXPECT_EQ(describeReturned(merged), "abs sine");
}

TEST_F(MergeFragmentsTest, ListsControlOperandsOfBothBehindData) {
  parse(makeFragment("%0", "%x", "abs", 1) +
        makeFragment("%1", "%x", "abs", 1) + R"(
    %2:2 = mpmd.fragment<mesh="m", origin=[]> (%x, %y, %1, %0) {mpmd.control_operand_start_idx = 2 : i64} (%a: !t, %b: !t) {
      mpmd.return %a, %b : !t, !t
    } : (!m, !m, !m, !m) -> (!m, !m)
    %3 = mpmd.fragment<mesh="m", origin=["f"]> (%2#1, %2#0, %1) {mpmd.control_operand_start_idx = 1 : i64} (%a: !t) {
      mpmd.return %a : !t
    } : (!m, !m, !m) -> !m
    return %3 : !m)");
  SmallVector<Value> expected{
      func.getArgument(0), func.getArgument(1), fragments[1]->getResult(0),
      fragments[0]->getResult(0), fragments[1]->getResult(0)};
  FragmentOp merged = mergeFragments(fragments[2], fragments[3], rewriter);
  EXPECT_EQ(getOperands(merged), expected);
  EXPECT_EQ(merged->getAttr(kControlOperandStartIdxAttr),
            rewriter.getI64IntegerAttr(2));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

TEST_F(MergeFragmentsTest, ReturnsWhatOthersReadOfProducerThenAllOfConsumer) {
  parse(R"(
    %0:4 = mpmd.fragment<mesh="m", origin=[]> (%x) (%a: !t) {
      %3 = stablehlo.abs %a : !t
      %4 = stablehlo.sine %a : !t
      %5 = stablehlo.cosine %a : !t
      %6 = stablehlo.floor %a : !t
      mpmd.return %3, %4, %5, %6 : !t, !t, !t, !t
    } : (!m) -> (!m, !m, !m, !m)
    %1:3 = mpmd.fragment<mesh="m", origin=["f"]> (%0#1, %0#2) (%a: !t, %b: !t) {
      %3 = stablehlo.add %a, %b : !t
      %4 = stablehlo.multiply %a, %b : !t
      mpmd.return %4, %3, %4 : !t, !t, !t
    } : (!m, !m) -> (!m, !m, !m)
    %2 = mpmd.fragment<mesh="m", origin=["g"]> (%1#1, %0#3, %0#1) (%a: !t, %b: !t, %c: !t) {
      mpmd.return %a : !t
    } : (!m, !m, !m) -> !m
    return %2 : !m)");
  FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(describeReturned(merged), "sine floor multiply add multiply");
  EXPECT_EQ(getOperands(fragments[2]),
            (SmallVector<Value>{merged->getResult(3), merged->getResult(1),
                                merged->getResult(0)}));
}

//===----------------------------------------------------------------------===//
// Attributes, place and location
//===----------------------------------------------------------------------===//

TEST_F(MergeFragmentsTest, UnitesOriginsByNameAndCount) {
  auto merge = [&](StringRef first, StringRef second) {
    parse(llvm::formatv(R"(
      %0 = mpmd.fragment<mesh="m", origin=[{0}]> (%x) (%a: !t) {{
        mpmd.return %a : !t
      } : (!m) -> !m
      %1 = mpmd.fragment<mesh="m", origin=[{1}]> (%0) (%a: !t) {{
        mpmd.return %a : !t
      } : (!m) -> !m
      return %1 : !m)",
                        first, second)
              .str());
    FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
    std::string names;
    for (auto origin : merged.getOrigin().getAsRange<UserOriginAttr>())
      names += llvm::formatv("{0}{1}({2})", names.empty() ? "" : " ",
                             origin.getUserName().getValue(),
                             origin.getTransposeCount())
                   .str();
    return names;
  };
  EXPECT_EQ(merge("", ""), "");
  EXPECT_EQ(merge("\"g\", \"f\"", ""), "g(0) f(0)");
  EXPECT_EQ(merge("", "\"g\", \"f\""), "g(0) f(0)");
  EXPECT_EQ(merge("\"g\", \"f\"", "\"f\", \"a\", \"g\""), "g(0) f(0) a(0)");
  EXPECT_EQ(merge("\"f\"(1)", "\"f\", \"f\"(1)"), "f(1) f(0)");
  // What one list repeats stays.
  EXPECT_EQ(merge("\"f\", \"f\"", "\"g\", \"g\""), "f(0) f(0) g(0) g(0)");
}

TEST_F(MergeFragmentsTest, KeepsStageOfEitherAndNoDiscardableAttribute) {
  for (bool isProducer : {false, true}) {
    SCOPED_TRACE(isProducer);
    parse(llvm::formatv(R"(
      %0 = mpmd.fragment<mesh="m", origin=["f"]{0}> (%x) {{call_counter = 1 : ui32, remat} (%a: !t) {{
        mpmd.return %a : !t
      } : (!m) -> !m
      %1 = mpmd.transfer %y : (!m) -> !m
      %2 = mpmd.fragment<mesh="m", origin=["f"]{1}, in_shardings=[<@g, [{{}]>]> (%0) {{call_counter = 1 : ui32} (%a: !t) {{
        mpmd.return %a : !t
      } : (!m) -> !m
      return %2 : !m)",
                        isProducer ? ", stage=3" : "",
                        isProducer ? "" : ", stage=3")
              .str());
    FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
    EXPECT_EQ(merged.getStageIdAttr(), rewriter.getI64IntegerAttr(3));
    EXPECT_TRUE(merged->getDiscardableAttrDictionary().empty());
    EXPECT_FALSE(merged.getInShardingsAttr());
    EXPECT_FALSE(merged.getOutShardingsAttr());
    // What was between the two precedes the merged fragment.
    EXPECT_TRUE(isa<TransferOp>(merged->getPrevNode()));
    EXPECT_TRUE(isa<func::ReturnOp>(merged->getNextNode()));
  }
}

TEST_F(MergeFragmentsTest, FusesTheLocationOfProducerFirst) {
  parse(makeFragment("%0", "%x", "abs", 1) +
        makeFragment("%1", "%0", "sine", 1) + "return %1 : !m");
  Location first = fragments[0].getLoc(), second = fragments[1].getLoc();
  FragmentOp merged = mergeFragments(fragments[0], fragments[1], rewriter);
  EXPECT_EQ(merged.getLoc(), FusedLoc::get(&context, {first, second}));
}

//===----------------------------------------------------------------------===//
// Refused merges, and what callers put back
//===----------------------------------------------------------------------===//

TEST_F(MergeFragmentsTest, RefusesStagesThatDiffer) {
  context.printOpOnDiagnostic(false); // Else there is a note of it as well.
  auto verifyStages = [&](StringRef first, StringRef second) {
    parse(llvm::formatv(R"(
      %0 = mpmd.fragment<mesh="m", origin=["f"]{0}> (%x) (%a: !t) {{
        mpmd.return %a : !t
      } : (!m) -> !m
      %1 = mpmd.fragment<mesh="m", origin=["g"]{1}> (%0) (%a: !t) {{
        mpmd.return %a : !t
      } : (!m) -> !m
      return %1 : !m)",
                        first, second)
              .str());
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
      EXPECT_EQ(diag.getLocation(), fragments[1].getLoc());
      EXPECT_EQ(llvm::range_size(diag.getNotes()), 1u);
      EXPECT_EQ(diag.getNotes().begin()->getLocation(), fragments[0].getLoc());
      message = diag.str();
    });
    bool isRefused = failed(verifySameStage(fragments[0], fragments[1]));
    EXPECT_EQ(isRefused, !message.empty());
    return message;
  };
  EXPECT_EQ(verifyStages("", ""), "");
  EXPECT_EQ(verifyStages(", stage=2", ""), "");
  EXPECT_EQ(verifyStages("", ", stage=2"), "");
  EXPECT_EQ(verifyStages(", stage=2", ", stage=2"), "");
  EXPECT_EQ(verifyStages(", stage=2", ", stage=1"),
            "fragment of stage 1 cannot be merged with one of stage 2; give "
            "both the same stage or leave out one of them");
}

TEST_F(MergeFragmentsTest, UnitesWhoInferredThem) {
  auto unite = [&](StringRef first, StringRef second) {
    parse(llvm::formatv(R"(
      %0 = mpmd.fragment<mesh="m", origin=[]> (%x) {0} (%a: !t) {{
        mpmd.return %a : !t
      } : (!m) -> !m
      %1 = mpmd.fragment<mesh="m", origin=[]> (%0) {1} (%a: !t) {{
        mpmd.return %a : !t
      } : (!m) -> !m
      return %1 : !m)",
                        first, second)
              .str());
    return MergedAttributes::ofBoth(fragments[0], fragments[1])
        .others.getAs<ArrayAttr>(kInferredByAttr);
  };
  EXPECT_FALSE(unite("", ""));
  EXPECT_EQ(unite("{mpmd.inferred_by = [\"b\", \"a\"]}",
                  "{mpmd.inferred_by = [\"c\", \"a\"]}"),
            rewriter.getStrArrayAttr({"b", "a", "c"}));
  EXPECT_EQ(unite("", "{mpmd.inferred_by = [\"c\"]}"),
            rewriter.getStrArrayAttr({"c"}));
  EXPECT_EQ(unite("{mpmd.inferred_by = [\"b\"]}", ""),
            rewriter.getStrArrayAttr({"b"}));
}
