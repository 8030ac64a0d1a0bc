//===- IssueOrderTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/IssueOrder.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

namespace {
/// Meshes of one device each, and chains of calls that follow each other.
class IssueOrderTest : public testing::Test {
protected:
  explicit IssueOrderTest() {
    context.loadDialect<sdy::SdyDialect>();
    for (StringRef name : {"a", "b"}) {
      auto axis = sdy::MeshAxisAttr::get(&context, "x", 1);
      program.meshes.push_back(
          {name.str(), sdy::MeshAttr::get(&context, {axis}), {}});
    }
  }

  unsigned addFragment(unsigned mesh, double flops) {
    ExportedProgram::Fragment &fragment = program.fragments.emplace_back();
    fragment.mesh = mesh;
    fragment.flops = flops;
    return program.fragments.size() - 1;
  }
  unsigned addValue(unsigned mesh) {
    return program.values.add(program.values.addKind({mesh, {}, {}, "", 4, 4}));
  }
  unsigned addItem(std::optional<unsigned> fragment, unsigned from, unsigned to,
                   unsigned operand) {
    auto kind = std::make_shared<ExportedProgram::ItemKind>();
    kind->fragment = fragment;
    kind->fromMesh = from;
    kind->toMesh = to;
    unsigned result = addValue(to);
    program.addItem({kind, std::nullopt, {result, 1}, {operand}, {}, {}});
    return result;
  }
  /// Calls of a fragment, each on the result of the one before.
  void addChain(unsigned mesh, double flops, unsigned length) {
    unsigned fragment = addFragment(mesh, flops), value = addValue(mesh);
    for (unsigned i = 0; i < length; ++i)
      value = addItem(fragment, mesh, mesh, value);
  }

  MLIRContext context;
  ExportedProgram program;
};

using Order = std::vector<unsigned>;
} // namespace

TEST_F(IssueOrderTest, MeshesAlternateInTheOrderOfTheirTimes) {
  addChain(0, 100, 3); // Items 0, 1, 2.
  addChain(1, 100, 3); // Items 3, 4, 5.
  EXPECT_EQ(findIssueOrder(program), Order({0, 3, 1, 4, 2, 5}));
}

TEST_F(IssueOrderTest, AMeshWithLongerWorkGetsLessOften) {
  addChain(0, 100, 4);
  addChain(1, 250, 2);
  EXPECT_EQ(findIssueOrder(program), Order({0, 4, 1, 2, 5, 3}));
}

TEST_F(IssueOrderTest, WorkCountsPerDevice) {
  auto axis = sdy::MeshAxisAttr::get(&context, "x", 4);
  program.meshes[1].shape = sdy::MeshAttr::get(&context, {axis});
  addChain(0, 100, 4);
  addChain(1, 1000, 2);
  EXPECT_EQ(findIssueOrder(program), Order({0, 4, 1, 2, 5, 3}));
}

TEST_F(IssueOrderTest, MeshesThatShareDevicesTakeTurns) {
  addChain(0, 100, 2);
  addChain(1, 100, 2);
  // The second mesh is idle, but its devices are not.
  EXPECT_EQ(findIssueOrder(program, SharedMeshes{{1}, {0}}),
            Order({0, 1, 2, 3}));
}

TEST_F(IssueOrderTest, TransfersTakeNoTimeAndKeepTheOrderOfBothMeshes) {
  unsigned first = addFragment(0, 100), second = addFragment(1, 300);
  unsigned x = addValue(0);
  for (unsigned i = 0; i < 3; ++i) { // Items 3 i, 3 i + 1, 3 i + 2.
    unsigned made = addItem(first, 0, 0, x);
    unsigned sent = addItem(std::nullopt, 0, 1, made);
    addItem(second, 1, 1, sent);
  }
  // While the second mesh is busy, the first one goes on.
  EXPECT_EQ(findIssueOrder(program), Order({0, 1, 2, 3, 4, 6, 5, 7, 8}));
}

TEST_F(IssueOrderTest, EqualTimesGoByTheGivenOrder) {
  addChain(0, 0, 1);
  addChain(1, 0, 1);
  EXPECT_EQ(findIssueOrder(program, ArrayRef<unsigned>({1, 0})), Order({1, 0}));
}
