//===- mpmd-opt.cpp - Runs passes on a module -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "BoundedInliner.h"
#include "Support/Tool.h"
#include "meshwright/Files/BooleanText.h"
#include "meshwright/Files/DeepStack.h"
#include "meshwright/Files/JaxBytecode.h"
#include "meshwright/Files/TextLimits.h"
#include "meshwright/InitAll.h"
#include "meshwright/Text/WholeFile.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Dialect/Quant/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/Transforms/Passes.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include <tuple>

using namespace mlir;
using namespace meshwright;

static int reportError(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs()) << message << "\n";
  return 1;
}

/// Reads a program, in the form that this MLIR has for booleans and types.
static std::unique_ptr<llvm::MemoryBuffer>
readProgram(StringRef path, const DialectRegistry &registry,
            std::string &message) {
  if (path == "-" &&
      llvm::sys::Process::FileDescriptorIsDisplayed(fileno(stdin)))
    llvm::errs() << "(processing input from stdin now, hit ctrl-c/ctrl-d to "
                    "interrupt)\n";
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &message);
  if (buffer && isBytecode(*buffer)) {
    std::string error;
    auto own = convertBytecodeOfJax(*buffer, registry, error);
    if (own || error.empty())
      return own ? std::move(own) : std::move(buffer);
    message = (buffer->getBufferIdentifier() + ": " + error).str();
    return nullptr;
  }
  if (!buffer || !hasByteBooleans(buffer->getBuffer()))
    return buffer;
  std::unique_ptr<llvm::WritableMemoryBuffer> own =
      llvm::WritableMemoryBuffer::getNewUninitMemBuffer(
          buffer->getBufferSize(), buffer->getBufferIdentifier());
  llvm::copy(buffer->getBuffer(), own->getBufferStart());
  packByteBooleans(own->getBuffer());
  return own;
}

/// Reports what MLIR's parser would not survive.
static LogicalResult verifyLimits(const llvm::MemoryBuffer &program) {
  std::optional<TextExcess> excess = findTextExcess(program);
  if (!excess)
    return success();
  llvm::SourceMgr sourceMgr;
  sourceMgr.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(
                                   program, /*RequiresNullTerminator=*/false),
                               llvm::SMLoc());
  sourceMgr.PrintMessage(
      llvm::SMLoc::getFromPointer(program.getBufferStart() + excess->place),
      llvm::SourceMgr::DK_Error, excess->message);
  return failure();
}

/// MLIR's own passes for the dialects that a program can have here. Those for
/// others would make the tool four times as large.
static void registerPassesOfMLIR() {
  mlir::registerTransformsPasses();
  func::registerFuncPasses();
  quant::registerQuantPasses();
  tensor::registerTensorPasses();
}

/// As MLIR's own driver, with texts that JAX's MLIR prints and reads, and a
/// result that is written when it is there: the input may be its place.
static int run(int argc, char **argv) {
  prepareTool();
  registerBoundedInliner();
  registerPassesOfMLIR();
  meshwright::registerAllPasses();
  DialectRegistry registry;
  meshwright::registerAllDialects(registry);
  std::string input, output;
  std::tie(input, output) = registerAndParseCLIOptions(
      argc, argv, "Meshwright optimizer driver\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return failed(MlirOptMain(argc, argv, input, output, registry));
  llvm::InitLLVM init(argc, argv);
  ignoreFileSizeSignal();

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> program =
      readProgram(input, registry, message);
  if (!program)
    return reportError(message);
  if (failed(verifyLimits(*program)))
    return 1;
  std::string result;
  llvm::raw_string_ostream resultStream(result);
  if (failed(MlirOptMain(resultStream, std::move(program), registry, config))) {
    // Of an input in parts, those that went well.
    if (output == "-")
      printWithBooleanLists(result, llvm::outs());
    return 1;
  }
  llvm::Error error = writeWholeFile(output, [&](llvm::raw_ostream &os) {
    if (isBytecode(llvm::MemoryBufferRef(result, output)))
      os << result;
    else
      printWithBooleanLists(result, os);
    return llvm::Error::success();
  });
  return error ? reportError(llvm::toString(std::move(error))) : 0;
}

int main(int argc, char **argv) {
  giveThreadsDeepStacks();
  int code = 1;
  runOnDeepStack([&] { code = run(argc, argv); });
  return code;
}
