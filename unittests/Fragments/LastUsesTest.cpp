//===- LastUsesTest.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/LastUses.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "unittests/Dialect/Mpmd/MpmdTest.h"

using namespace mlir;
using namespace mlir::mpmd;

namespace {
class LastUsesTest : public MpmdTest {
protected:
  LastUsesTest() { context.loadDialect<stablehlo::StablehloDialect>(); }

  /// A function that reads %a once, %b twice in one fragment, %c in two of them and in
  /// what it returns, and %d in a loop only.
  void parseProgram() {
    parse(R"mlir(
!t = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @f(%a: !t, %b: !t, %c: !t, %d: tensor<ui32>) -> (!t, !t) attributes {
    topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%c, %a)
      (%p: tensor<4xf32>, %q: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!t, !t) -> !t
  %1 = mpmd.fragment<mesh="m1", origin=["g"]> (%b, %c, %b)
      (%p: tensor<4xf32>, %q: tensor<4xf32>, %r: tensor<4xf32>) {
    mpmd.return %p : tensor<4xf32>
  } : (!t, !t, !t) -> !t
  %2 = mpmd.for (%1) {iterations = 2 : ui32, unroll_factor = 2 : ui32}
      (%x: !t, %i: tensor<ui32>) {
    %s = stablehlo.add %d, %i : tensor<ui32>
    mpmd.return %x : !t
  } : !t
  return %c, %2 : !t, !t
})mlir");
    func = function("f");
    block = &func.front();
  }
  Operation *at(unsigned n) { return &*std::next(block->begin(), n); }

  func::FuncOp func;
  Block *block = nullptr;
};
} // namespace

TEST_F(LastUsesTest, AreOperandsOfOpsOfTheBlock) {
  parseProgram();
  LastUses uses(*block);
  EXPECT_EQ(uses.get(func.getArgument(0)), &at(0)->getOpOperand(1));
  EXPECT_EQ(uses.get(func.getArgument(1)), &at(1)->getOpOperand(2));
  EXPECT_EQ(uses.get(func.getArgument(2)), &at(3)->getOpOperand(0));
  EXPECT_EQ(uses.get(func.getArgument(3)), nullptr);
  EXPECT_EQ(uses.get(at(0)->getResult(0)), nullptr);
  EXPECT_EQ(uses.get(at(1)->getResult(0)), &at(2)->getOpOperand(0));
}

TEST_F(LastUsesTest, EndWhatIsReadLastAndWhatNothingReads) {
  parseProgram();
  LastUses uses(*block);
  EXPECT_EQ(uses.getEnding(at(0)),
            (SmallVector<Value>{func.getArgument(0), at(0)->getResult(0)}));
  EXPECT_EQ(uses.getEnding(at(1)), (SmallVector<Value>{func.getArgument(1)}));
}
