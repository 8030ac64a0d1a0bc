//===- ShardingInterfacesTest.cpp -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "MpmdTest.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class ShardingInterfacesTest : public MpmdTest {
protected:
  sdy::TensorShardingAttr sharding(StringRef text) {
    return attr<sdy::TensorShardingAttr>(("#sdy.sharding" + text).str());
  }

  /// Every target leads to an owner whose sources lead back to it.
  void expectConsistent(sdy::DataFlowOpInterface op) {
    SmallVector<Value> owners(op.getBlockArgumentEdgeOwners());
    llvm::append_range(owners, op.getOpResultEdgeOwners());
    for (Value owner : owners) {
      EXPECT_EQ(op.getEdgeOwnerFromTarget(owner), owner);
      for (Value target : op.getNonEdgeOwnerTargets(owner))
        EXPECT_EQ(op.getEdgeOwnerFromTarget(target), owner);
      for (OpOperand *source : op.getEdgeSources(owner))
        EXPECT_EQ(op.getEdgeOwnerFromSource(*source), owner);
    }
  }
};
} // namespace

static constexpr StringLiteral kProgram = R"(
  !m1 = !mpmd.mesh_tensor<"m1", tensor<4x8xf32>>
  !m2 = !mpmd.mesh_tensor<"m2", tensor<4x8xf32>>
  !m3 = !mpmd.mesh_tensor<"m3", tensor<4x8xf32>>
  !m1_host = !mpmd.mesh_tensor<"m1", tensor<4x8xf32>, memory_kind="pinned_host">
  #topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>, <"m3": <["x"=2, "y"=1]>>>
  func.func @f(%x: !m1, %y: !m1) -> (!m1, !m2, !m3, !m1_host) attributes {topology = #topology} {
    %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x, %y) (%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
      mpmd.return %b, %a : tensor<4x8xf32>, tensor<4x8xf32>
    } : (!m1, !m1) -> (!m1, !m1)
    %1:2 = mpmd.for (%0#0, %0#1) {iterations = 2 : ui32} (%a: !m1, %b: !m1, %i: tensor<ui32>) {
      mpmd.return %b, %a : !m1, !m1
    } : !m1, !m1
    %2 = mpmd.transfer %1#0 : (!m1) -> !m2
    %3 = mpmd.transfer %1#0 : (!m1) -> !m3
    %4 = mpmd.transfer %1#0 : (!m1) -> !m1_host
    return %1#0, %2, %3, %4 : !m1, !m2, !m3, !m1_host
  })";

TEST_F(ShardingInterfacesTest, EdgesOfFragmentsAndLoopsAreConsistent) {
  parse(kProgram);
  auto fragment = op<FragmentOp>("f");
  EXPECT_EQ(fragment.getBlockArgumentEdgeOwners().size(), 2u);
  EXPECT_TRUE(fragment.shouldKeepEdgeOwnerShardingsDivisible());
  expectConsistent(cast<sdy::DataFlowOpInterface>(*fragment));

  auto loop = op<ForOp>("f");
  EXPECT_TRUE(loop.getBlockArgumentEdgeOwners().empty());
  EXPECT_EQ(loop.getEdgeSources(loop.getResult(0)).size(), 2u);
  EXPECT_FALSE(loop.getEdgeOwnerFromTarget(loop.getIndexArg()));
  EXPECT_FALSE(cast<sdy::DataFlowOpInterface>(*loop)
                   .shouldKeepEdgeOwnerShardingsDivisible());
  expectConsistent(cast<sdy::DataFlowOpInterface>(*loop));
}

TEST_F(ShardingInterfacesTest, FirstShardingOpensAllOthers) {
  parse(kProgram);
  auto fragment = op<FragmentOp>("f");
  EXPECT_FALSE(fragment.getInputSharding(0));
  EXPECT_TRUE(fragment.getBlockArgumentEdgeOwnerShardings().empty());
  fragment.setInputSharding(1, {});
  EXPECT_FALSE(fragment.getInShardingsAttr());
  fragment.setInputSharding(1, sharding(R"(<@mesh, [{"x"}, {}]>)"));
  EXPECT_EQ(fragment.getInShardingsAttr(),
            attr<sdy::TensorShardingPerValueAttr>(
                R"(#sdy.sharding_per_value<[<@mesh, [{?}, {?}]>,
                                            <@mesh, [{"x"}, {}]>]>)"));
  fragment.setOpResultEdgeOwnerShardings(
      {sharding(R"(<@mesh, [{}, {"x"}]>)"), {}});
  EXPECT_EQ(fragment.getOutputSharding(1), sharding("<@mesh, [{?}, {?}]>"));
}

// Nothing verifies the length of the lists.
TEST_F(ShardingInterfacesTest, ListsOfAnotherLengthAreNoTrap) {
  parse(kProgram);
  auto fragment = op<FragmentOp>("f");
  auto one = sharding(R"(<@mesh, [{"x"}, {}]>)");
  fragment.setInShardingsAttr(
      sdy::TensorShardingPerValueAttr::get(&context, one));
  EXPECT_EQ(fragment.getInputSharding(0), one);
  EXPECT_FALSE(fragment.getInputSharding(1));
  fragment.setInputSharding(1, one);
  EXPECT_EQ(fragment.getInShardingsAttr().getShardings().size(), 2u);
}

TEST_F(ShardingInterfacesTest, TransferKeepsDimensionsBetweenEqualMeshes) {
  parse(kProgram);
  auto pointwise = attr<sdy::OpShardingRuleAttr>(
      "#sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>");
  ASSERT_TRUE(pointwise);
  EXPECT_EQ(op<TransferOp>("f", 0).getShardingRule(), pointwise);
  EXPECT_FALSE(op<TransferOp>("f", 1).getShardingRule()); // An axis of size 1.
  EXPECT_EQ(op<TransferOp>("f", 2).getShardingRule(), pointwise);
  EXPECT_TRUE(op<TransferOp>("f", 0).shouldKeepOutputShardingsDivisible());
}
