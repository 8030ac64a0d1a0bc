//===- Erase.cpp - meshwright erase ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Support/ModuleFile.h"
#include "meshwright/Erase/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand
    subCommand("erase", "Turn a partitioned program back into a plain one");
static cl::opt<std::string> program(cl::Positional, cl::Required,
                                    cl::desc("<program.mlir, or - for stdin>"),
                                    cl::sub(subCommand));
static cl::opt<std::string> output("o", cl::desc("Output file, - for stdout"),
                                   cl::value_desc("file"), cl::init("-"),
                                   cl::sub(subCommand));
static cl::opt<bool> emitBytecode("emit-bytecode",
                                  cl::desc("Write MLIR bytecode, not text"),
                                  cl::sub(subCommand));

static LogicalResult run() {
  Session session;
  OwningOpRef<ModuleOp> module = session.readModule(program);
  if (!module)
    return failure();
  PassManager passes(session.getContext());
  passes.addPass(mpmd::createErasePartitioningPass());
  if (failed(passes.run(*module)))
    return failure();
  return writeModule(*module, output, emitBytecode);
}

const Command meshwright::eraseCommand = {subCommand, run};
