//===- PurityTest.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An operation is pure if it has no effects and may run although the program
// would not have run it. No pass shows the difference to "no effects" on a flat
// function, so it is asked for here.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {
class PurityTest : public ::testing::Test {
protected:
  PurityTest() {
    context.loadDialect<func::FuncDialect, stablehlo::StablehloDialect>();
  }

  /// Returns whether the last operation of a function body is pure.
  bool isLastOpPure(StringRef arguments, StringRef body) {
    std::string text =
        ("func.func @f(" + arguments + ") {\n" + body + "\nreturn\n}").str();
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module) << text;
    if (!module)
      return false;
    auto func = cast<func::FuncOp>(module->getBody()->front());
    return isPure(func.front().getTerminator()->getPrevNode());
  }

  MLIRContext context;
};
} // namespace

TEST_F(PurityTest, StaticArithmeticIsPure) {
  EXPECT_TRUE(isLastOpPure("%x: tensor<4xf32>",
                           "%0 = stablehlo.add %x, %x : tensor<4xf32>"));
  EXPECT_TRUE(isLastOpPure("%x: tensor<4xf32>",
                           "%0 = stablehlo.tanh %x : tensor<4xf32>"));
}

TEST_F(PurityTest, DynamicOperandsOfBinaryOperationsMayDisagree) {
  EXPECT_FALSE(isLastOpPure("%x: tensor<?xf32>",
                            "%0 = stablehlo.add %x, %x : tensor<?xf32>"));
}

TEST_F(PurityTest, UnaryOperationsMayNotAssertASize) {
  EXPECT_TRUE(isLastOpPure("%x: tensor<?xf32>",
                           "%0 = stablehlo.tanh %x : tensor<?xf32>"));
  EXPECT_FALSE(isLastOpPure(
      "%x: tensor<?xf32>",
      "%0 = stablehlo.tanh %x : (tensor<?xf32>) -> tensor<4xf32>"));
}

TEST_F(PurityTest, CustomCallsAreNeverPure) {
  EXPECT_FALSE(isLastOpPure(
      "%x: tensor<4xf32>",
      "%0 = stablehlo.custom_call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>"));
}

TEST_F(PurityTest, ComputedShapesArePureIfConstant) {
  StringRef reshape = "%0 = stablehlo.dynamic_reshape %x, %s : "
                      "(tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>";
  EXPECT_FALSE(isLastOpPure("%x: tensor<4xf32>, %s: tensor<1xi32>", reshape));
  EXPECT_TRUE(isLastOpPure(
      "%x: tensor<4xf32>",
      ("%s = stablehlo.constant dense<4> : tensor<1xi32>\n" + reshape).str()));
}

TEST_F(PurityTest, SetSizeIsPureIfTheDimensionStaysDynamic) {
  EXPECT_TRUE(isLastOpPure(
      "%x: tensor<4xf32>, %n: tensor<i32>",
      "%0 = stablehlo.set_dimension_size %x, %n, dim = 0 : "
      "(tensor<4xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>"));
}

TEST_F(PurityTest, TokensAndBarriersArePure) {
  EXPECT_TRUE(
      isLastOpPure("", "%0 = stablehlo.create_token : !stablehlo.token"));
  EXPECT_TRUE(
      isLastOpPure("%x: tensor<?xf32>",
                   "%0 = stablehlo.optimization_barrier %x : tensor<?xf32>"));
}
