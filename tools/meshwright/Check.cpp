//===- Check.cpp - meshwright check ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Support/ModuleFile.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Partitioner/Partitioner.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand subCommand("check",
                                 "Parse, verify and summarize a program");
static cl::opt<std::string> program(cl::Positional, cl::Required,
                                    cl::desc("<program.mlir, or - for stdin>"),
                                    cl::sub(subCommand));

/// How often a name occurs, forward and transposed.
using NameCounts = llvm::MapVector<StringRef, std::pair<unsigned, unsigned>>;

static void printFunction(func::FuncOp func, llvm::raw_ostream &os) {
  llvm::MapVector<StringRef, unsigned> dialects;
  NameCounts computations;
  func.walk([&](Operation *op) {
    if (op != func)
      ++dialects[op->getName().getDialectNamespace()];
    if (auto named = dyn_cast<NamedComputationOp>(op)) {
      auto &[forward, transposed] =
          computations[named.getOrigin().getUserName().getValue()];
      ++(named.getOrigin().getTransposeCount() ? transposed : forward);
    }
  });
  os << (func.isPublic() ? "public " : "private ") << "@" << func.getSymName()
     << ": " << func.getNumArguments() << " arguments, " << func.getNumResults()
     << " results\n";
  for (auto [dialect, count] : dialects)
    os << "  " << count << " " << dialect << " ops\n";
  for (auto [name, counts] : computations)
    os << "  computation \"" << name << "\": " << counts.first << " forward, "
       << counts.second << " transposed\n";
}

static LogicalResult run() {
  Session session;
  OwningOpRef<ModuleOp> module = session.readModule(program);
  if (!module || failed(checkProgram(*module)))
    return failure();
  bool isPartitioned = false;
  for (auto func : module->getOps<func::FuncOp>()) {
    printFunction(func, llvm::outs());
    if (func.isExternal() || !isEntryPointFunction(func) ||
        func.front().getOps<FragmentOp>().empty())
      continue;
    isPartitioned = true;
    printTable(summarize(func), llvm::outs());
  }
  llvm::outs() << (isPartitioned ? "valid, partitioned\n" : "valid\n");
  return success();
}

const Command meshwright::checkCommand = {subCommand, run};
