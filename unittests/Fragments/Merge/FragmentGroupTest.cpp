//===- FragmentGroupTest.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The law of groups: to build a group is to merge two fragments again and
// again, in text and in the order of uses.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Merge/FragmentGroup.h"
#include "meshwright/Fragments/Merge/MergeFragments.h"
#include "meshwright/InitDialects.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class FragmentGroupTest : public ::testing::TestWithParam<unsigned> {
protected:
  FragmentGroupTest() : context(getDialects()), rewriter(&context) {}

  static DialectRegistry getDialects() {
    DialectRegistry registry;
    meshwright::registerAllDialects(registry);
    return registry;
  }

  OwningOpRef<ModuleOp> parse(StringRef source) {
    return parseSourceString<ModuleOp>(source, &context);
  }

  unsigned pick(unsigned count) { return random() % count; }

  std::string makeFragment(unsigned index, std::vector<std::string> &values);
  std::string makeProgram(unsigned numFragments);

  std::mt19937 random{GetParam()};
  MLIRContext context;
  IRRewriter rewriter;
};
} // namespace

/// Many have one operand and one result, which merging treats apart.
std::string FragmentGroupTest::makeFragment(unsigned index,
                                            std::vector<std::string> &values) {
  unsigned numOperands = pick(3) ? 1 : pick(4);
  unsigned numResults = pick(3) ? 1 : pick(4);
  auto repeat = [](StringRef text, unsigned count) {
    std::string list;
    for (unsigned i = 0; i < count; ++i)
      list += (i ? ", " : "") + text.str();
    return list;
  };
  std::string operands, arguments, body, returned;
  std::vector<std::string> inner{"%c"};
  for (unsigned i = 0; i < numOperands; ++i) {
    // Rather what was computed last.
    unsigned back = pick(2) ? pick(std::min<size_t>(3, values.size()))
                            : pick(values.size());
    operands += (i ? ", " : "") + values[values.size() - 1 - back];
    inner.push_back("%a" + std::to_string(i));
    arguments += (i ? ", " : "") + inner.back() + ": !t";
  }
  for (unsigned i = 0, e = pick(4); i < e; ++i) {
    std::string name = "%b" + std::to_string(i);
    body += name + " = stablehlo.add " + inner[pick(inner.size())] + ", " +
            inner[pick(inner.size())] + " : !t\n";
    inner.push_back(name);
  }
  std::string name = "%f" + std::to_string(index);
  for (unsigned i = 0; i < numResults; ++i) {
    returned += (i ? ", " : "") + inner[pick(inner.size())];
    values.push_back(name + "#" + std::to_string(i));
  }
  return (numResults ? name + ":" + std::to_string(numResults) + " = " : "") +
         "mpmd.fragment<mesh=\"m\", origin=[\"f\"]> (" + operands + ") (" +
         arguments + ") {\n%c = stablehlo.constant dense<1.0> : !t\n" + body +
         "mpmd.return " + returned + (numResults ? " : " : "") +
         repeat("!t", numResults) + "\n} : (" + repeat("!m", numOperands) +
         ") -> (" + repeat("!m", numResults) + ")\n";
}

std::string FragmentGroupTest::makeProgram(unsigned numFragments) {
  std::vector<std::string> values{"%x", "%y"};
  std::string body, returned, types;
  for (unsigned i = 0; i < numFragments; ++i)
    body += makeFragment(i, values);
  for (const std::string &value : values) {
    if (pick(3))
      continue;
    returned += (returned.empty() ? "" : ", ") + value;
    types += (types.empty() ? "" : ", ") + std::string("!m");
  }
  return R"(
    !t = tensor<4xf32>
    !m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
    #topology = #mpmd.topology<<"m": <["x"=2]>>>
    func.func @f(%x: !m, %y: !m) -> ()" +
         types + ") attributes {topology = #topology} {\n" + body + "return " +
         returned + (types.empty() ? "" : " : ") + types + "\n}";
}

/// The program, and on demand who uses each value of the function, in order.
static std::string describe(ModuleOp module, bool withUses) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << module << "\n";
  if (!withUses)
    return text;
  Block &block = (*module.getOps<func::FuncOp>().begin()).front();
  DenseMap<Operation *, unsigned> numbers;
  for (Operation &op : block)
    numbers.try_emplace(&op, numbers.size());
  auto printUses = [&](Value value) {
    for (OpOperand &use : value.getUses())
      os << numbers.lookup(use.getOwner()) << "." << use.getOperandNumber()
         << " ";
    os << "\n";
  };
  for (Value argument : block.getArguments())
    printUses(argument);
  for (Operation &op : block)
    for (Value result : op.getResults())
      printUses(result);
  return text;
}

static SmallVector<FragmentOp> getFragments(ModuleOp module) {
  return llvm::to_vector(
      (*module.getOps<func::FuncOp>().begin()).getOps<FragmentOp>());
}

TEST_P(FragmentGroupTest, BuildsWhatMergingPairsGives) {
  unsigned numFragments = 2 + pick(7);
  std::string source = makeProgram(numFragments);
  OwningOpRef<ModuleOp> byPairs = parse(source), byGroups = parse(source);
  ASSERT_TRUE(byPairs);

  // Neighbours merge, in any order.
  SmallVector<unsigned> steps;
  for (unsigned left = numFragments; left > 1 && pick(16); --left)
    steps.push_back(pick(left - 1));

  SmallVector<FragmentOp> fragments = getFragments(*byPairs);
  for (unsigned step : steps) {
    FragmentOp merged =
        mergeFragments(fragments[step], fragments[step + 1], rewriter);
    fragments.erase(fragments.begin() + step);
    fragments[step] = merged;
  }

  struct Entry {
    std::unique_ptr<FragmentGroup> group;
    FragmentOp last;
    int lastMerge = -1;
  };
  std::vector<Entry> entries;
  for (FragmentOp fragment : getFragments(*byGroups))
    entries.push_back({std::make_unique<FragmentGroup>(fragment), fragment});
  for (auto [time, step] : llvm::enumerate(steps)) {
    entries[step].group->append(*entries[step + 1].group);
    entries[step + 1].group = std::move(entries[step].group);
    entries[step + 1].lastMerge = time;
    entries.erase(entries.begin() + step);
  }
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return a.lastMerge < b.lastMerge;
  });
  unsigned numBuilt = 0;
  for (Entry &entry : entries) {
    if (entry.lastMerge < 0)
      continue;
    entry.group->build(rewriter, entry.last,
                       MergedAttributes::ofNone(entry.group->getMembers()),
                       entry.last.getLoc());
    ++numBuilt;
  }

  EXPECT_TRUE(succeeded(verify(*byGroups)));
  bool withUses = numBuilt < 2;
  EXPECT_EQ(describe(*byGroups, withUses), describe(*byPairs, withUses))
      << source;
}

INSTANTIATE_TEST_SUITE_P(Random, FragmentGroupTest, ::testing::Range(0u, 300u));
