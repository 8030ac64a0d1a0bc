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

#ifndef NDEBUG
TEST(ProgramTextTest, ParsesOneOfTextsThatDifferInAName) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect>();
  context.allowUnregisteredDialects();
  auto make = [&](llvm::StringRef name, llvm::StringRef value) {
    std::string text =
        ("module " + name + " attributes {func.x = #odd<\"" + value + "\">} {}")
            .str();
    return parseProgram(text, &context, "");
  };
  OwningOpRef<ModuleOp> first = make("@f", "1"), alike = make("@g", "1"),
                        other = make("@f", "2"), quoted = make("@\"g h\"", "1"),
                        unnamed = make("", "1");
  ASSERT_TRUE(first && alike && other && quoted && unnamed);
  WrittenModules written;
  EXPECT_TRUE(succeeded(written.check(*first)));
  // From here on none of these texts can be parsed.
  context.allowUnregisteredDialects(false);
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &) {});
  EXPECT_TRUE(succeeded(written.check(*first)));
  EXPECT_TRUE(succeeded(written.check(*alike)));
  EXPECT_TRUE(failed(written.check(*other)));
  EXPECT_TRUE(failed(written.check(*quoted)));
  EXPECT_TRUE(failed(written.check(*unnamed)));
  WrittenModules later;
  EXPECT_TRUE(failed(later.check(*alike)));
}
#endif
