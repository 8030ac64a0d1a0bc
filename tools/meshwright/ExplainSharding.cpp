//===- ExplainSharding.cpp - meshwright explain-sharding ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Explain/ExplainSharding.h"
#include "Commands.h"
#include "Support/ModuleFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;

static cl::SubCommand
    subCommand("explain-sharding",
               "Print which annotation splits a value, and by which path");
static cl::opt<std::string> program(cl::Positional, cl::Required,
                                    cl::desc("<program.mlir, or - for stdin>"),
                                    cl::sub(subCommand));
static cl::opt<std::string>
    configFile("config", cl::value_desc("config.json"), cl::sub(subCommand),
               cl::desc("Topology, assignment and options, as for partition; "
                        "without it the program is taken as it is"));
static cl::opt<std::string>
    value("value", cl::value_desc("name"), cl::sub(subCommand),
          cl::desc("'arg 0', 'result 0', '%name' or '%name#1' of the text, a "
                   "line of it, file:line, file:line:column, or a name in a "
                   "location (default: all that are sharded)"));
static cl::opt<bool> asJson("json", cl::desc("Print JSON"),
                            cl::sub(subCommand));

static LogicalResult run() {
  Session session;
  std::optional<PartitionConfig> config;
  if (!configFile.empty()) {
    FailureOr<StringRef> text = session.readFile(configFile);
    if (failed(text))
      return failure();
    FailureOr<PartitionConfig> parsed =
        parsePartitionConfig(*text, configFile, session.getContext());
    if (failed(parsed))
      return failure();
    // A configuration may come from someone else, who must not choose where
    // files are written.
    parsed->options.inspection = {};
    config = std::move(*parsed);
  }
  WrittenValues written;
  OwningOpRef<ModuleOp> module = session.readModule(program, &written);
  if (!module)
    return failure();
  auto values =
      explainSharding(*module, config ? &*config : nullptr, value, written);
  if (failed(values))
    return failure();
  (asJson ? mpmd::writeExplanation : mpmd::printExplanation)(*values,
                                                             llvm::outs());
  return success();
}

const Command meshwright::explainShardingCommand = {subCommand, run};
