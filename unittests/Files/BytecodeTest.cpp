//===- BytecodeTest.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The law of damaged bytecode: it is read, or there is an error, and the process
// goes on.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Files/ProgramText.h"
#include "meshwright/InitAll.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

static constexpr llvm::StringLiteral kProgram = R"(
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = mpmd.named_computation<"a"(1)> (%x) (%y: tensor<2xf32>) {
      %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %1 = stablehlo.add %y, %c : tensor<2xf32>
      mpmd.return %1 : tensor<2xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  })";

namespace {
class BytecodeTest : public testing::Test {
protected:
  BytecodeTest()
      : context(makeRegistry(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            errors.push_back(diagnostic.str());
        }) {
    OwningOpRef<ModuleOp> module = parseProgram(kProgram, &context, "text");
    llvm::raw_string_ostream os(bytecode);
    EXPECT_TRUE(module && succeeded(writeBytecodeToFile(*module, os)));
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// Whether there is a program; if not, there are errors.
  bool read(llvm::StringRef bytes) {
    errors.clear();
    OwningOpRef<ModuleOp> module = parseProgram(bytes, &context, "bytecode");
    EXPECT_TRUE(module || !errors.empty());
    return !!module;
  }

  MLIRContext context;
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler;
  std::string bytecode;
};
} // namespace

TEST_F(BytecodeTest, IsReadOrRefusedWhateverOneByteIs) {
  ASSERT_TRUE(read(bytecode));
  unsigned numRead = 0;
  // Some bytes make the reader clear gigabytes, so one in a few places.
  for (size_t place = 4; place < bytecode.size(); place += 7)
    for (char byte : {'\0', '\x7f', '\xff', char(bytecode[place] ^ 4)}) {
      std::string changed = bytecode;
      changed[place] = byte;
      numRead += read(changed);
    }
  EXPECT_GT(numRead, 0u);
}

TEST_F(BytecodeTest, IsReadOrRefusedWhereverItEnds) {
  for (size_t size = 4; size < bytecode.size(); ++size)
    EXPECT_FALSE(read(llvm::StringRef(bytecode).take_front(size)));
}
