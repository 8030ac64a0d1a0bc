//===- mpmd-reduce.cpp - Makes a program that shows a mistake small -------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// As MLIR's mlir-reduce, with the dialects and passes of Meshwright, a pass that
// makes the first large steps (ReduceProgram.h), and a result that is written
// when it is there. scripts/reduce.py calls it.
//
//===----------------------------------------------------------------------===//

#include "ReduceProgram.h"
#include "Support/ModuleFile.h"
#include "Support/Tool.h"
#include "meshwright/Files/ProgramText.h"
#include "meshwright/InitAll.h"
#include "meshwright/Text/WholeFile.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Reducer/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace meshwright;

static llvm::cl::opt<std::string>
    input(llvm::cl::Positional, llvm::cl::Required,
          llvm::cl::desc("<program.mlir, or - for stdin>"));
static llvm::cl::opt<std::string> output("o", llvm::cl::init("-"),
                                         llvm::cl::value_desc("file"),
                                         llvm::cl::desc("Output file"));

/// Reports scripts that cannot be run. The passes that ask them know no error but
/// a fatal one.
static LogicalResult verifyScripts(PassManager &passes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  passes.printAsTextualPipeline(os);
  static const llvm::Regex reduction(
      "(mpmd-reduce-program|reduction-tree|opt-"
      "reduction-pass)[{]([^}]* )?test=([^ }]*)");
  llvm::SmallVector<StringRef> groups;
  for (StringRef rest = text; reduction.match(rest, &groups);
       rest = StringRef(groups[0].end(), rest.end() - groups[0].end()))
    if (!llvm::sys::fs::can_execute(groups[3]))
      return reportError("-" + groups[1] + ": the script \"" + groups[3] +
                         "\" cannot be run; test= must name an executable "
                         "file that exits with 1 for an interesting program");
  return success();
}

static LogicalResult reduce(const PassPipelineCLParser &pipeline) {
  Session session;
  session.getContext()->loadAllAvailableDialects(); // Each may have patterns.
  OwningOpRef<ModuleOp> module = session.readModule(input);
  if (!module)
    return failure();
  PassManager passes(session.getContext(), ModuleOp::getOperationName());
  if (failed(pipeline.addToPipeline(passes, reportError)) ||
      failed(verifyScripts(passes)) || failed(passes.run(*module)))
    return failure();
  return writeFile(output, [&](llvm::raw_ostream &os) {
    printProgram(*module, os);
    return llvm::Error::success();
  });
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ignoreFileSizeSignal();
  mlir::registerAllPasses();
  mlir::registerReducerPasses();
  meshwright::registerAllPasses();
  registerReduceProgramPass();
  PassPipelineCLParser pipeline("", "Reductions to run");
  prepareTool();
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "Makes programs with a mistake small\n");
  return runTool([&] { return reduce(pipeline); });
}
