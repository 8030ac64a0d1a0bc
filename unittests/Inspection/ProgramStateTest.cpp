//===- ProgramStateTest.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Inspection/ProgramState.h"
#include "meshwright/InitDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <functional>

using namespace mlir;
using namespace meshwright;

TEST(ProgramStateTest, EachKindOfChangeIsAnotherState) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      R"(func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
           %0 = stablehlo.add %x, %y : tensor<4xf32>
           %1 = stablehlo.sine %0 {a} : tensor<4xf32>
           return %0 : tensor<4xf32>
         })",
      &context);
  ASSERT_TRUE(module);
  auto func = *module->getOps<func::FuncOp>().begin();
  Block &body = func.getBody().front();
  Operation *add = &body.front(), *sine = add->getNextNode();
  Type wide = RankedTensorType::get({4}, Float64Type::get(&context));

  const std::function<void()> changes[] = {
      [&] { add->setOperand(1, body.getArgument(0)); },
      [&] { sine->removeAttr("a"); },
      [&] { func.setPrivate(); }, // A property.
      [&] { sine->setLoc(NameLoc::get(StringAttr::get(&context, "s"))); },
      [&] { sine->getResult(0).setType(wide); },
      [&] { body.getArgument(1).setType(wide); },
      [&] { sine->moveBefore(add); },
      [&] { sine->erase(); },
      [&] { body.addArgument(wide, func.getLoc()); },
  };
  llvm::hash_code state = hashState(*module);
  EXPECT_EQ(size_t(state), size_t(hashState(*module)));
  for (auto [index, change] : llvm::enumerate(changes)) {
    change();
    llvm::hash_code changed = hashState(*module);
    EXPECT_NE(size_t(changed), size_t(state)) << "change " << index;
    state = changed;
  }
}
