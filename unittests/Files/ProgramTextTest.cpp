//===- ProgramTextTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/ProgramText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

TEST(ProgramTextTest, TakesATextThatIsNowhere) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parseProgram(llvm::StringRef(), &context, "");
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->getBody()->empty());
}

TEST(ProgramTextTest, DoesNotReadBehindTheText) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect>();
  llvm::StringRef text = "func.func private @f()func.func private @g()";
  OwningOpRef<ModuleOp> module =
      parseProgram(text.take_front(text.size() / 2), &context, "");
  ASSERT_TRUE(module);
  EXPECT_TRUE(llvm::hasSingleElement(*module->getBody()));
}
