//===- ProgramTextTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Files/ProgramText.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
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

TEST(ProgramTextTest, RefusesWhatMlirReadsInSpiteOfAnError) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, sdy::SdyDialect>();
  for (llvm::StringRef end :
       {"\"never closed", "\"never closed\nfunc.func private @f()",
        "\"\\z\nfunc.func private @f()", "@\nfunc.func private @f()"}) {
    std::string text = ("#mesh = #sdy.mesh<[\"x\"=2]>\n" + end).str();
    unsigned errors = 0;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &) { ++errors; });
    EXPECT_FALSE(parseProgram(text, &context, "")) << text;
    EXPECT_NE(errors, 0u) << text;
    WrittenValues written;
    EXPECT_FALSE(parseProgram(text, &context, "", &written)) << text;
  }
}
