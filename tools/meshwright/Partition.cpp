//===- Partition.cpp - meshwright partition -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ModuleFile.h"
#include "meshwright/Partitioner/NearestName.h"
#include "meshwright/Partitioner/Partitioner.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand subCommand("partition",
                                 "Cut a program into fragments on meshes");
static cl::opt<std::string> program(cl::Positional, cl::Required,
                                    cl::desc("<program.mlir, or - for stdin>"),
                                    cl::sub(subCommand));
static cl::opt<std::string>
    configFile("config", cl::Required,
               cl::desc("Topology, assignment and options, as JSON"),
               cl::value_desc("config.json"), cl::sub(subCommand));
static cl::opt<std::string>
    output("o", cl::init("out"), cl::value_desc("folder"),
           cl::desc("Where partitioned.mlir goes; - prints the program "
                    "instead, and the table to stderr (default: out)"),
           cl::sub(subCommand));
static cl::opt<bool> emitBytecode("emit-bytecode",
                                  cl::desc("Write MLIR bytecode, not text"),
                                  cl::sub(subCommand));

static cl::opt<std::string>
    until("until", cl::value_desc("phase"),
          cl::desc("Stop after this phase (default: the last)"),
          cl::sub(subCommand));
static cl::opt<bool>
    showTime("time", cl::sub(subCommand),
             cl::desc("Print the time of each phase, also when not on a "
                      "terminal"));

static FailureOr<Phase> findLastPhase() {
  SmallVector<StringRef> names;
  for (const PhaseInfo &info : getPhases()) {
    if (info.name == until)
      return info.phase;
    names.push_back(info.name);
  }
  if (until.empty())
    return getPhases().back().phase;
  return reportError("--until: unknown phase \"" + until + "\", " +
                     listKnown(until, names));
}

static LogicalResult writeResult(ModuleOp module,
                                 const PartitionResult &result) {
  if (output == "-") {
    printTable(result.summary, llvm::errs());
    return writeModule(module, output, emitBytecode);
  }
  if (std::error_code error = llvm::sys::fs::create_directories(output))
    return reportError(output +
                       ": the folder cannot be made: " + error.message());
  SmallString<128> path(output);
  llvm::sys::path::append(path, emitBytecode ? "partitioned.mlirbc"
                                             : "partitioned.mlir");
  if (failed(writeModule(module, path, emitBytecode)))
    return failure();
  printTable(result.summary, llvm::outs());
  llvm::outs() << "written: " << path << "\n";
  return success();
}

static LogicalResult run() {
  FailureOr<Phase> last = findLastPhase();
  if (failed(last))
    return failure();
  Session session;
  FailureOr<StringRef> text = session.readFile(configFile);
  if (failed(text))
    return failure();
  FailureOr<PartitionConfig> config =
      parsePartitionConfig(*text, configFile, session.getContext());
  if (failed(config))
    return failure();
  OwningOpRef<ModuleOp> module = session.readModule(program);
  if (!module)
    return failure();

  PhaseListener onPhase;
  if (showTime || llvm::sys::Process::StandardErrIsDisplayed())
    onPhase = [](const PhaseInfo &phase, double seconds) {
      llvm::errs() << llvm::formatv("{0,-10} {1,-44} {2:F4} s\n", phase.name,
                                    phase.description, seconds);
    };
  FailureOr<PartitionResult> result =
      partition(*module, *config, *last, onPhase);
  if (failed(result))
    return failure();
  return writeResult(*module, *result);
}

const Command meshwright::partitionCommand = {subCommand, run};
