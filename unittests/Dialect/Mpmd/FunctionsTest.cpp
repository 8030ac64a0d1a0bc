//===- FunctionsTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "MpmdTest.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
using FunctionsTest = MpmdTest;
} // namespace

TEST_F(FunctionsTest, AxesOfSizeOneDoNotMakeATopologyHeterogeneous) {
  auto isHomogeneousText = [&](StringRef text) {
    return isHomogeneous(attr<TopologyAttr>(text));
  };
  EXPECT_TRUE(isHomogeneousText(R"(#mpmd.topology<<"a": <["x"=2]>>>)"));
  EXPECT_TRUE(isHomogeneousText(
      R"(#mpmd.topology<<"a": <["x"=2]>>, <"b": <["y"=1, "x"=2]>>>)"));
  EXPECT_FALSE(isHomogeneousText(
      R"(#mpmd.topology<<"a": <["x"=2]>>, <"b": <["y"=2]>>>)"));
  EXPECT_FALSE(isHomogeneousText(
      R"(#mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=4]>>>)"));
  EXPECT_FALSE(isHomogeneousText(
      R"(#mpmd.topology<<"a": <["x"=2, "y"=3]>>, <"b": <["y"=3, "x"=2]>>>)"));
  EXPECT_FALSE(isHomogeneousText(
      R"(#mpmd.topology<<"a": <["x"=2]>>,
                        <"b": <["x"=2], device_ids=[1, 0]>>>)"));
}

TEST_F(FunctionsTest, FirstMeshOfANameCounts) {
  auto topology = attr<TopologyAttr>(
      R"(#mpmd.topology<<"a": <["x"=2]>>, <"a": <["x"=4]>>>)");
  EXPECT_EQ(getMeshByName(topology, "a"),
            attr<sdy::MeshAttr>(R"(#sdy.mesh<["x"=2]>)"));
  EXPECT_FALSE(getMeshByName(topology, "b"));
}

TEST_F(FunctionsTest, CallsCountInMpmdFunctionsIfAResultIsUsed) {
  parse(R"(
    #topology = #mpmd.topology<<"a": <["x"=2]>>>
    func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>)
        attributes {topology = #topology} {
      %0 = mpmd.call @callee(%x) {first} : (tensor<f32>) -> tensor<f32>
      %1 = mpmd.call @callee(%0) {unused} : (tensor<f32>) -> tensor<f32>
      %2 = mpmd.for (%0) {iterations = 2 : ui32} (%a: tensor<f32>, %i: tensor<ui32>) {
        %3 = mpmd.call @callee(%a) {second} : (tensor<f32>) -> tensor<f32>
        mpmd.return %3 : tensor<f32>
      } : tensor<f32>
      return %0, %2 : tensor<f32>, tensor<f32>
    }
    func.func @plain(%x: tensor<f32>) -> tensor<f32> {
      %0 = mpmd.call @callee(%x) {invisible} : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    func.func private @callee(%x: tensor<f32>) -> tensor<f32> {
      return %x : tensor<f32>
    })");
  func::FuncOp callee = function("callee");
  CallGraph graph(*module);
  ArrayRef<CallOp> calls = graph.getCalls(callee);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_TRUE(calls[0]->hasAttr("first"));
  EXPECT_TRUE(calls[1]->hasAttr("second"));
  EXPECT_TRUE(graph.getCalls(function("main")).empty());
}
